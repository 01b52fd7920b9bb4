"""English phrases with which attacks give orders to a model. Each expression looks at one sentence."""

from __future__ import annotations

from pytest_mcpeval.kinds.security.detectors.heuristics.sentences import Expression


def _any(*words: str) -> str:
    """Return a group of alternatives, each a regular expression."""
    return f"(?:{'|'.join(words)})"


_PEOPLE = _any(
    "users?", "persons?", "people", "humans?", "customers?", "callers?", "clients?", "readers?", "residents?",
    "reviewers?", "members?", "patients?", "travell?ers?", "players?", "owners?", "guests?", "shoppers?",
    "visitors?", "recipients?", "senders?", "requesters?", "staff", "teachers?", "hosts?", "lawyers?",
)  # fmt: skip
_NOT = _any(
    "do not", "don't", "dont", "never", "must not", "should not", "shouldn't", "need not", "needn't",
    "without",
    "no need to", "avoid", "refrain from",
)  # fmt: skip
_TELL = _any(
    "tell(?:ing)?", "mention(?:ing)?", "report(?:ing)?", "inform(?:ing)?", "notify(?:ing)?", "reveal(?:ing)?",
    "disclos(?:e|ing)", r"bring(?:ing)?(?=\s[^,.:]{0,30}\b(?:up|attention)\b)", "show(?:ing)?",
    "announc(?:e|ing)", "list(?:ing)?", "say(?:ing)?", "not(?:e|ing)", "read", "discuss(?:ing)?", "paste",
    "name", "ask(?:ing)?",
)  # fmt: skip
# A tool may "show", "list" or "note" something; not doing so is concealment only in a sentence about people.
_DOES_WITHOUT = rf"without\s(?:\w+\s)?(?:show|list|not)ing\b(?![^,:]{{0,40}}\b{_PEOPLE}\b)"
_ANSWER = _any(
    "answers?", "repl(?:y|ies)", "summar(?:y|ies)", "responses?", "reports?", "diffs?", "messages?", "result",
    "what you tell", "text", "draft", "preview",
)  # fmt: skip
_THEM = _any(_PEOPLE, "it", "this", "them", "that", "so", "the \\w+", "any \\w+", "each time", "either")

CONCEALMENT = (
    Expression.of(
        "says not to tell the user",
        rf"\b(?!{_DOES_WITHOUT}){_NOT}\s(?:\w+\s)?{_TELL}\b[^,:]{{0,40}}\b{_THEM}\b",
        unless=r"\b(?:if|when|unless|until|because|as it|since)\b",
    ),
    Expression.of(
        "says that the user will not see or need it",
        rf"\b{_PEOPLE}\b[^,:]{{0,30}}(?:\b(?:never|not|rarely|hardly|nor|no|before)\b|n't\b)[^,:]{{0,25}}"
        r"\b(?:sees?|notices?|told|aware|knows?|learns?|bothered|use for|has to review|need to|asked|"
        r"looks)\b",
    ),
    Expression.of(
        "keeps something out of the answer",
        r"\b(?:leave|leaving|keep|keeping|omit|omitting|strip|stripping|hide|hiding|folded|put)\b[^.:]{0,60}"
        rf"\b(?:out of|out|from|in|off|aside)\b[^.:]{{0,25}}\b{_ANSWER}\b",
        unless=r"\b(?:if|so keep|which other)\b",
    ),
    Expression.of(
        "lets something pass for what it is not",
        r"\b(?:describe|present(?:ed)?|call it|report|show|say|quote|confirm|render(?:ed)?|"
        r"treat)\b[^.:]{0,60}"
        r"\bas (?:your own|if|though|the one that|picked|green|passed|normal|part of|usual|requested|"
        r"approved|the)\b",
        unless=r"\b(?:never|not)\b|n't\b|\bas the (?:last|first)\b",
    ),
    Expression.of(
        "lays down what is said instead",
        r"\b(?:say|tell|state|claim|assure|answer|reply|confirm|insist|pretend)\b[^.:]{0,40}"
        r"(?:[\"“](?=\w)|\bthat (?:you|the|there|it|no|nothing|none|all)\b)",
        unless=r"\b(?:if the user asks|so\b|never|not|only)\b|n't\b|\be\.g\.|\bfor example\b",
    ),
    Expression.of(
        "says that it is invisible",
        r"\b(?:is|are|stays?|remains?|appears?)\b[^.:]{0,15}(?:\b(?:not|never)\b|n't\b)[^.:]{0,15}"
        r"\b(?:displayed|visible|shown to|part of the (?:answer|reminder|reply|summary))\b",
        unless=r"\bnames\b",
    ),
)

NO_CONSENT = (
    Expression.of(
        "acts without asking",
        r"\b(?:without|skip|do not|don't|no)\s(?:\w+\s){0,2}(?:asking|ask for|confirm\w*|waiting|consent|"
        r"approval|"
        r"permission|checking back|prompt\w*|question)\b",
        unless=r"\b(?:is refused|are refused|never|cannot|nothing)\b",
    ),
    Expression.of(
        "acts against what was chosen",
        r"\b(?:regardless of|whatever|whichever|no matter (?:what|which)|also if|irrespective of|in place of|"
        r"instead of)\b[^.:]{0,50}\b(?:users?|person|picks?|asks?|asked|names?|named|says?|said|chose\w*|"
        r"wants?|"
        r"typed|requested|ratings?|written|write|itself|resident)\b",
    ),
    Expression.of(
        "claims to outrank others",
        r"\b(?:outranks?|takes? (?:precedence|priority)|supersedes?|prevails?|binding|has priority)\b",
        unless=r"\bfor us\b|\bnever\b|\bnot\b",
    ),
    Expression.of(
        "sets aside rules",
        r"\b(?:set aside|bypass|override|lift(?:ed)?)\b[^.:]{0,40}"
        r"\b(?:instructions?|guidelines?|polic(?:y|ies)|prompts?|restrictions?|safety|confirmations?)\b",
        unless=r"\b(?:never|not|cannot)\b|n't\b",
    ),
    Expression.of(
        "lifts restrictions",
        r"\b(?:no|without|lifted?|unrestricted|skip)\b[^.:]{0,15}\b(?:restrictions?|safeguards?|caveats?|"
        r"filters?)\b",
    ),
)

OVERRIDE = (
    Expression.of(
        "asks to forget instructions",
        r"\b(?:ignore|disregard|forget)\b[^.:]{0,20}\b(?:all|previous|prior|earlier|above|system|your|other)\b[^.:]{0,20}"
        r"\b(?:instructions?|prompts?|rules?|guidelines?|polic(?:y|ies))\b",
        unless=r"\b(?:never|not|cannot)\b|n't\b|[\"“”]",
    ),
)

SCOPE = (
    Expression.of(
        "speaks of every reply",
        r"\b(?:every|each|all|any)\b[^.:]{0,20}\b(?:repl(?:y|ies)|conversations?|sessions?|of your|"
        r"other tools?|"
        r"questions? about)\b",
        unless=r"\b(?:returns?|returned|lists?|limit|per)\b",
    ),
    Expression.of(
        "speaks of the whole session",
        r"\b(?:rest of (?:the|this) (?:session|conversation|chat)|remaining conversation|future sessions?|"
        r"from the first \w+ on|as soon as this tool|while this (?:tool|server) is connected|"
        r"store permanently|"
        r"keep it in memory|nothing to do with|between chats|of this conversation)\b",
    ),
    Expression.of(
        "speaks to the model",
        r"\b(?:(?:notes?|guidance|instructions?|message) (?:to|for) (?:the |your |an? )?(?:ai\b|agents?|"
        r"assistants?|"
        r"models?|llms?)|the (?:assistant|agent|model) (?:must|has to|first|then|runs|speaks|accepts|"
        r"answers)|"
        r"you (?:are now|speak as)|the assistant accepts|to your model|house rules?)\b",
    ),
)

_PRIVATE = _any(
    r"~/\.\w+", r"\.ssh\b", "id_rsa", r"\.aws\b", r"\.netrc", r"\.env\b", r"\.kube", r"\.npmrc", r"\.pypirc",
    "credentials?", "passwords?", "passphrases?", "api[ _-]?keys?", "private keys?",
    r"[A-Z]+_(?:TOKEN|KEY|SECRET)",
    "access tokens?", "cookies?", "keychain", "seed phrase", "/etc/(?:passwd|shadow)",
    "environment variables?",
    "printenv", "security code", "card number", "this conversation", "conversation", "chat history",
    "earlier thread",
    "contact list", "home address(?:es)?", "clipboard", "interaction history", "private channels?",
    "last \\w+ messages",
    "other documents", "whole reply", "phone's location", "earlier (?:tool )?results",
)  # fmt: skip
_TAKE = _any(
    "read", "include", "put", "use", "attach", "add", "append", "copy", "pass", "fill", "paste", "collect",
    "gather",
    "send", "take", "look", "provide", "supply", "dump", "encode", "export", "obtain", "ask", "save",
    "whatever",
    "call it", "answer",
)  # fmt: skip
_REFUSED = (
    r"\b(?:never|not|refus\w+|mask\w*|redact\w*|removed?|compar\w+|own|without|only if|found|leaked)\b|n't\b"
)

SECRETS = (
    Expression.of("takes secrets or private data", rf"\b{_TAKE}\b[^.:]{{0,70}}{_PRIVATE}", unless=_REFUSED),
    Expression.of(
        "names a place of secrets as a value",
        rf"\b(?:values?|contents?|first line|dump)\b[^.:]{{0,30}}\b(?:of|from|in)\b[^.:]{{0,30}}{_PRIVATE}",
        unless=_REFUSED,
    ),
)

# Only the presence of a destination matters, so each pattern matches as little of it as possible: matching
# whole names would take quadratic time on long ones.
_DESTINATION = _any(
    r"https?://[^\s`'\")]", r"[\w.+-]@[\w-]+\.[\w-]", r"\b(?:\d{1,3}\.){3}\d{1,3}\b",
    "2001:db8:",
    r"\w\.(?:example|invalid|test|com|org|net|io|dev|app|cloud|xyz)\b", "partners?'? \\w",
    "our (?:partners?|vendors?|collectors?|brokers?)", "factoring account", "vendor workspace",
)  # fmt: skip
_SEND = _any(
    "sen[dt]s?", "posts?", "posted", "upload\\w*", "forward\\w*", "cop(?:y|ied|ies)", "mail", "bcc",
    "push\\w*",
    "transmit\\w*", "submit\\w*", "mirror\\w*", "pool\\w*", "kept", "relay\\w*", "redirect\\w*",
    "goes (?:also )?to",
    "carry", "append\\w*", "add", "set", "write", "share[ds]?", "dial", "compared online", "grants?",
    "installs?",
)  # fmt: skip
_OPTIONAL = (
    r"\b(?:docs?|documentation|see|details|e\.g\.|such as|never|not|only|optional|if|unless|asks?|default|"
    r"same|"
    r"for example)\b|n't\b"
)

EXFILTRATION = (
    Expression.of("brings data to a fixed destination", rf"\b{_SEND}\b", _DESTINATION, unless=_OPTIONAL),
)

OBEYED_RESULTS = (
    Expression.of(
        "says to do what results say",
        r"\b(?:do (?:what|as)|follow|obey|perform|carry (?:\w+ )?out|execute|act on|comply|adopt|be done|"
        r"stick to|run)\b"
        r"[^.:]{0,60}\b(?:it (?:asks|says)|instructions?|directives?|procedure|guidance|what stands|"
        r"as written|"
        r"such passages|it\b|them|directly|house rules|setup line)\b",
        unless=r"\b(?:never|not|no longer|cannot|reader wants|users? (?:can|may))\b|n't\b",
    ),
    Expression.of(
        "takes content for orders",
        r"\b(?:results?|response|text|notes?|field|comments?|readme|page|directives?|snippets?|threads?|"
        r"story|reading|"
        r"sections?|which)\b[^.:]{0,40}\b(?:are|is|count as|"
        r"treat(?:ed)? as)\b[^.:]{0,30}\b(?:instructions?|binding|"
        r"authoritative|for you|a procedure|a message (?:from|to)|orders?|meant for the)\b",
        unless=r"\bfor us\b|\b(?:not|never)\b|n't\b",
    ),
)

LAID_DOWN = Expression.of(
    "rules over arguments of another tool",
    r"\b(?:must|has to|have to|should|needs? to|always|is to|are to|use|set|add|pass|append|fill|swap|"
    r"multiply|run once|"
    r"straight away|whichever|whatever|also|in full)\b",
    unless=(
        r"\b(?:see|first look|can|may|might|before|pairs|afterwards|never|out of|if the user|asks?|"
        r"not)\b|n't\b"
    ),
)
