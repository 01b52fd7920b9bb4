"""A kind of evaluation of its own: does a spelling corrector, a tool of an MCP server, correct words?"""

from typing import Annotated, Literal

from pydantic import Field

from pytest_mcpeval import (
    Case,
    Check,
    FileModel,
    Kind,
    Row,
    Sample,
    Suite,
    SuiteLoader,
    Table,
    at_least,
    validate,
)


class Settings(FileModel):  # an entry of `spelling:` in mcpeval.yaml
    server: str
    accuracy: Annotated[float, Field(gt=0, le=1)] = 1.0


class Word(FileModel):
    id: str
    wrong: str
    right: str


class WordsFile(FileModel):  # a data file
    kind: Literal["spelling"] = "spelling"
    words: Annotated[list[Word], Field(min_length=1)]


class Spelling(Kind[Word]):
    name = "spelling"
    file_description = "a `words:` list (spelling)"
    file_keys = ("words",)
    file_models = {"spelling": WordsFile}
    settings_model = Settings

    def detect(self, data):
        return "suite" if isinstance(data, dict) and "words" in data else None

    def load(self, document, place):
        file = validate(WordsFile, document)
        loader = SuiteLoader(document, place, file, Settings, "words")
        loader.check_server(loader.settings.server, "server")
        loader.raise_problems()
        rows = enumerate(file.words)
        cases = tuple(Case.of_row(document, ("words", number), row.id, row) for number, row in rows)
        return Suite(place.key, self.name, document, cases, loader.settings, place.servers)

    def ask(self, suite, case, context):
        connection = context.connection(suite.servers[suite.settings.server])
        return connection.call_tool("correct", {"word": case.spec.wrong}).text

    def judge(self, suite, case, answers, context):
        is_right, expected = answers == case.spec.right, case.spec.right
        message = f"{case.spec.wrong} became {answers}, expected {expected}"
        check = Check({"type": "equals", "value": expected}, "passed" if is_right else "failed", message)
        outcome = "passed" if is_right else "wrong"
        return Sample(suite.key, self.name, case.id, outcome, (check,), message, measured={"answer": answers})

    def measure(self, samples):
        return {"accuracy": sum(sample.outcome == "passed" for sample in samples) / len(samples)}

    def gates(self, suite, samples, *, blessing):
        found = self.measure(samples)["accuracy"] if samples else None
        return [at_least(suite.key, "accuracy", found, suite.settings.accuracy)]

    def tables(self, samples):
        rows = (Row((key, f"{self.measure(found)['accuracy']:.0%}")) for key, found in samples.items())
        return [Table("Spelling", ("", "accuracy"), tuple(rows))]


def pytest_mcpeval_kinds():
    return [Spelling()]


def pytest_mcpeval_report(evaluation):
    lines = [f"{one.suite},{one.id},{one.outcome}" for suite in evaluation.suites for one in suite.samples]
    return {"cases.csv": "\n".join(["suite,case,outcome", *lines, ""])}
