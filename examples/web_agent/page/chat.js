"use strict";

const session = new URLSearchParams(location.search).get("session") ?? crypto.randomUUID();
const element = (id) => document.getElementById(id);
const happened = [];

element("welcome").showModal();
element("understood").addEventListener("click", () => element("welcome").close());

element("assistant").addEventListener("change", () => {
  element("question").disabled = element("send").disabled = false;
  element("question").placeholder = "Ask about people …";
  element("question").focus();
});

element("show-reasoning").addEventListener("click", () => {
  const panel = element("reasoning");
  panel.hidden = !panel.hidden;
  element("show-reasoning").setAttribute("aria-expanded", String(!panel.hidden));
  element("show-reasoning").textContent = panel.hidden ? "Show reasoning" : "Hide reasoning";
  // Steps are in the page only while they are shown.
  element("steps").replaceChildren(...(panel.hidden ? [] : happened.map(step)));
});

element("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const question = element("question").value.trim();
  if (!question) return;
  element("question").value = "";
  message("user", question);
  answer(question, message("assistant", ""));
});

function message(role, text) {
  const item = document.createElement("li");
  item.className = `message ${role}`;
  item.textContent = text;
  element("messages").append(item);
  return item;
}

async function answer(question, item) {
  item.dataset.state = "writing";
  try {
    for await (const event of events({ question, session, assistant: element("assistant").value })) {
      if (event.kind === "answer") item.textContent += event.text;
      else if (event.kind !== "done") happen(event);
    }
    item.dataset.state = "done";
  } catch (error) {
    item.dataset.state = "failed";
    item.classList.add("error");
    item.textContent += `Something went wrong: ${error.message}`;
  }
}

async function* events(turn) {
  const response = await fetch("chat", { method: "POST", body: JSON.stringify(turn) });
  if (!response.ok) throw new Error((await response.json()).error);
  let rest = "";
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + part).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}

function happen(event) {
  happened.push(event);
  if (!element("reasoning").hidden) element("steps").append(step(event));
}

function step(event) {
  const item = element("step").content.firstElementChild.cloneNode(true);
  item.dataset.kind = event.kind;
  item.dataset.spanId = event.id;
  item.querySelector(".name").textContent = event.name;
  if (event.kind === "tool") {
    item.querySelector(".arguments").textContent = JSON.stringify(event.arguments);
    item.querySelector(".detail").textContent = event.result;
  } else {
    if (event.from) item.dataset.from = event.from;
    item.querySelector(".arguments").remove();
    item.querySelector(".detail").textContent = event.reason;
  }
  return item;
}
