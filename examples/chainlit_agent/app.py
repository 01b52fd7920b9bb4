"""A chat agent on Chainlit, an interface nobody here wrote: it looks people up, and shows that it does."""

import json

import chainlit as cl

LEADERS = {"Engineering": "Ada Lovelace", "Research": "Grace Hopper"}


@cl.step(type="tool", name="find_leader")
async def find_leader(team: str) -> str:
    """The person who leads a team."""
    cl.context.current_step.input = json.dumps({"team": team})
    return LEADERS[team]


@cl.on_chat_start
async def greet() -> None:
    """Show that the page is connected: what is typed before that is lost."""
    await cl.Message(content="Whom do you look for?").send()


@cl.on_message
async def answer(message: cl.Message) -> None:
    """Stream the answer, as agents do."""
    team = next((name for name in LEADERS if name in message.content), None)
    reply = cl.Message(content="")
    text = "I know no such team." if team is None else f"{await find_leader(team)} leads {team}."
    for word in text.split():
        await reply.stream_token(f"{word} ")
    await reply.send()
