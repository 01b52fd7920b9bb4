"""The shape of an answer."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mcpeval import Block, CallError, Response
from pytest_mcpeval.kinds.session.result_shape import failure_shape, result_shape, shape_of

ISSUES = [{"id": n, "state": "open", "title": f"Issue {n}"} for n in range(47)]


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (ISSUES, "array[47] of {id,state,title}"),
        ({"ok": True, "count": 47}, "object{ok:true,count:47}"),
        ({"items": ISSUES, "next": None, "name": "x", "inner": {"a": 1}},
         "object{items:array[47],next:null,name:text,inner:object}"),
        ([{"a": 1, "b": 2}, {"a": 1}], "array[2] of {a,b?}"),
        ([], "array[0]"),
        ({}, "object{}"),
        (["a", "b"], "array[2] of text"),
        ([1, "a", None, [1], True], "array[5] of array|boolean|null|number|text"),
        ([{"a": 1}, 2], "array[2] of number|object"),
        ("hello", "text[5]"),
        (True, "true"),
        (None, "null"),
        (4.5, "4.5"),
        ({"otp": 482913, "password": 12345678, "pin_code": 1234, "apiKey": 1.5, "userPin": 4321},
         "object{otp:number,password:number,pin_code:number,apiKey:number,userPin:number}"),
        ({"is_secret": True, "token": None, "tokens": [1], "passport_no": {"n": 1}, "pins": 3, "spin": 2},
         "object{is_secret:boolean,token:null,tokens:array[1],passport_no:object,pins:3,spin:2}"),
        (4111111111111111, "number"),
        ({f"k{n:02}": 1 for n in range(15)}, "object{" + ",".join(f"k{n:02}:1" for n in range(12)) + ",…+3}"),
        ([{f"k{n}": 1 for n in range(10, 25)}],
         "array[1] of {k10,k11,k12,k13,k14,k15,k16,k17,k18,k19,k20,k21,…+3}"),
        ({"ada@example.org": {"x": 1}}, "object{<e-mail>:object}"),
        ([{"a,b}": 1}], "array[1] of {a,b}}"),
    ],
)  # fmt: skip
def test_json_has_a_shape(value: Any, shape: str) -> None:
    assert shape_of(value) == shape


@pytest.mark.parametrize(
    ("response", "shape"),
    [
        (Response(json.dumps(ISSUES)), "array[47] of {id,state,title}"),
        (Response("x", structured={"ok": True}), "object{ok:true}"),
        (Response("[1, 2]", structured={"result": "[1, 2]"}), "array[2] of number"),
        # Python servers wrap what is not an object.
        (Response('{"id": 1}\n{"id": 2}', structured={"result": [{"id": 1}, {"id": 2}]}), "array[2] of {id}"),
        (Response("", structured={"result": []}), "array[0]"),
        (Response("words", structured={"result": "words"}), "text[5]"),
        (Response("7", structured={"result": 7}), "7"),
        (Response('{"result": 7}', structured={"result": 7}), "object{result:7}"),
        (Response("just words"), "text[10]"),
        (Response(""), "text[0]"),
        (Response("", blocks=(Block("image", 2048, "image/png"),)), "image[2048]"),
        (Response("see", blocks=(Block("text", 3), Block("image", 9))), "text[3] + image[9]"),
        (Response("HTTP 403 Forbidden", is_error=True), "error:403"),
        (Response("request failed with status code 404", is_error=True), "error:404"),
        (Response("404 Not Found", is_error=True), "error:404"),
        (Response("ENOENT: no such file or directory", is_error=True), "error:ENOENT"),
        (Response("Error executing tool x: PermissionError: no", is_error=True), "error:PermissionError"),
        (Response("MCP error -32602: bad", is_error=True), "error:-32602"),
        (Response("it did not work", is_error=True), "error:tool"),
        (Response("no", structured={"status": 429}, is_error=True), "error:429"),
        (Response("no", structured={"code": "RATE_LIMITED"}, is_error=True), "error:RATE_LIMITED"),
        (Response("no", structured={"code": "some secret text"}, is_error=True), "error:tool"),
        (Response("there are 404 files", is_error=True), "error:tool"),
    ],
)
def test_answers_have_a_shape(response: Response, shape: str) -> None:
    assert result_shape(response) == shape


@pytest.mark.parametrize(
    ("error", "shape"),
    [
        (CallError("timeout", "slow"), "error:timeout"),
        (CallError("http", "broken", http_status=502), "error:502"),
        (ZeroDivisionError("secret"), "error:ZeroDivisionError"),
        (asyncio.CancelledError(), "error:cancelled"),
        (concurrent.futures.CancelledError(), "error:cancelled"),
    ],
)
def test_failures_have_a_shape(error: BaseException, shape: str) -> None:
    assert failure_shape(error) == shape


TEXTS = st.text(min_size=4, max_size=20).filter(lambda text: text.strip() == text)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner) | st.dictionaries(TEXTS, inner)


@given(st.recursive(st.just("the-hidden-value"), nested))
def test_no_text_of_a_result_is_in_its_shape(value: Any) -> None:
    shape = shape_of(value)
    assert "hidden" not in shape
    assert "\n" not in shape
