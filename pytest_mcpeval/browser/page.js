// Commands that run in the page, the same for every driver: ([name, argument]) => JSON.
([name, argument]) => {
  const KEY = Symbol.for("pytest-mcpeval");

  // The document, and all open shadow roots and frames of the same origin in it.
  const roots = ({ frames }) => {
    const found = [document];
    for (let i = 0; i < found.length; i++) {
      for (const element of found[i].querySelectorAll("*")) {
        if (element.shadowRoot) found.push(element.shadowRoot);
        const inner = frames ? frameDocument(element) : null;
        if (inner) found.push(inner);
      }
    }
    return found;
  };

  const frameDocument = (element) => {
    if (element.localName !== "iframe" && element.localName !== "frame") return null;
    try {
      return element.contentDocument;
    } catch {
      return null;
    }
  };

  const isVisible = (element) => {
    const box = element.getBoundingClientRect();
    const style = element.ownerDocument.defaultView?.getComputedStyle(element);
    return box.width > 0 && box.height > 0 && style?.visibility === "visible";
  };

  const matches = (selector, { frames }) => roots({ frames }).flatMap((root) => [...root.querySelectorAll(selector)]);

  const focused = () => {
    let element = document.activeElement;
    for (;;) {
      const inner = element?.shadowRoot?.activeElement ?? (element && frameDocument(element)?.activeElement);
      if (!inner) return element;
      element = inner;
    }
  };

  const text = (element) => (element.value ?? element.textContent ?? "").replace(/\s+/g, "");

  const holdsInput = ({ input, typed }) => {
    if (input === null) return false;
    if (input.isConnected) return text(input).includes(typed);
    // A page that draws its input anew may put the text back.
    return matches("textarea, input, [contenteditable]", { frames: false }).some((field) => text(field).includes(typed));
  };

  const isInInput = ({ input }, node) => input !== null && (input === node || input.contains(node));

  // Attributes that change what is shown. Others come from animations and carets, which never end.
  const SHOWING = ["hidden", "open", "disabled", "aria-busy", "aria-hidden"];
  // Changes of one place that are further apart than this belong to something that goes on.
  const APART_MS = 50;
  // An input is shown with a name, a time and buttons of so many letters.
  const DECORATION = 30;

  // The record of what changes on this page: `touched` are the places that changed, `arrived` the nodes that came
  // to be, both with when; `watched` is the submission, once there is one.
  const pageState = () => {
    if (window[KEY]) return window[KEY];
    const state = {
      began: performance.now(),
      texts_changed: 0,
      touched: new WeakMap(),
      arrived: new WeakMap(),
      observed: new WeakSet(),
      watched: null,
    };
    state.observer = new MutationObserver((records) => noteAll(state, records));
    Object.defineProperty(window, KEY, { value: state, configurable: true });
    return state;
  };

  const observe = (state) => {
    // A selector may depend on any attribute.
    const all = state.watched !== null && state.watched.selector !== null;
    for (const root of roots({ frames: true })) {
      if (state.observed.has(root)) continue;
      state.observed.add(root);
      state.observer.observe(root, {
        childList: true,
        characterData: true,
        characterDataOldValue: true,
        subtree: true,
        attributes: true,
        ...(all ? {} : { attributeFilter: SHOWING }),
      });
    }
  };

  const above = (node) => node.parentNode ?? node.host ?? null;

  // What goes on since before the input was submitted is no reaction to it: places that changed twice. What has
  // arrived in such a place belongs to it; what was there before stands for itself.
  const isGoingOn = (state, place) => {
    let inquire = true;
    for (let node = place; node !== null; node = above(node)) {
      if (inquire && state.touched.get(node)?.again <= state.watched.since) return true;
      inquire = state.arrived.has(node);
    }
    return false;
  };

  const isNew = (state, place) => {
    for (let node = place; node !== null; node = above(node)) {
      if (state.arrived.get(node) > state.watched.since) return true;
    }
    return false;
  };

  const touch = (state, place, now) => {
    const before = state.touched.get(place);
    if (before === undefined) state.touched.set(place, { first: now, again: Infinity });
    else if (before.again === Infinity && now - before.first >= APART_MS) before.again = now;
  };

  const joined = (nodes) => [...nodes].map((node) => node.textContent ?? "").join("");

  // A clock, a counter, or dots that come and go: the words stay.
  const isTick = (record) => {
    const isText = record.type === "characterData";
    if (!isText && (record.removedNodes.length === 0 || record.addedNodes.length === 0)) return false;
    const old = isText ? record.oldValue : joined(record.removedNodes);
    const made = isText ? record.target.data : joined(record.addedNodes);
    const [words, others] = [old, made].map((given) => given.replace(/[\d\s\p{P}]/gu, ""));
    return words === others && (words !== "" || (/\d/.test(old) && /\d/.test(made)));
  };

  const noteAll = (state, records) => {
    const now = performance.now();
    const batch = new Set();
    for (const record of records) note(state, record, now, batch);
    if (batch.size > 0) state.watched.batches.push(batch);
    if (state.watched !== null) noteMatches(state.watched);
  };

  const note = (state, record, now, batch) => {
    const { target, type, addedNodes, removedNodes } = record;
    if (type === "attributes" && !SHOWING.includes(record.attributeName)) return;
    const { watched } = state;
    if (watched !== null && isInInput(watched, target)) return;
    touch(state, target, now);
    const fresh = watched !== null && isNew(state, target);
    const counts = watched !== null && !isGoingOn(state, target) && (fresh || !isTick(record));
    for (const node of addedNodes) state.arrived.set(node, now);
    const isText = type === "characterData" || [...addedNodes].some((node) => node.nodeType === Node.TEXT_NODE);
    if (isText || removedNodes.length > 0) state.texts_changed += 1;
    if (!counts) return;
    if (watched.changes > 0 && now - watched.changed > APART_MS) {
      watched.pauses = [...watched.pauses.slice(-1), now - watched.changed];
    }
    watched.changed = now;
    watched.changes += 1;
    // What takes the place of something may be a line about the connection.
    if (addedNodes.length > 0 && (fresh || removedNodes.length === 0)) watched.grown += 1;
    for (const node of addedNodes) batch.add(node);
    if (type === "characterData" || ["hidden", "open"].includes(record.attributeName)) batch.add(target);
  };

  const noteMatches = (watched) => {
    for (const element of watched.seen) {
      if (!element.isConnected || !element.matches(watched.selector)) watched.left.add(element);
    }
  };

  // A new match, one that was hidden, or one that went away and came back.
  const isReady = (watched) => {
    if (watched.selector === null) return false;
    noteMatches(watched);
    return matches(watched.selector, { frames: true }).some(
      (element) =>
        !watched.seen.has(element) ||
        watched.left.has(element) ||
        (watched.unseen.has(element) && isVisible(element)),
    );
  };

  // What is left of a text without layout, punctuation and marks of emphasis.
  const letters = (given) => given.replace(/[\s\p{P}\p{Sk}~]/gu, "").toLowerCase();

  const textNodes = (root) => {
    if (root.nodeType === Node.TEXT_NODE) return [root];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) found.push(walker.currentNode);
    return found;
  };

  const isShown = (node) => {
    if (!node.isConnected || node.parentElement?.closest("[aria-busy='true'], script, style, noscript")) return false;
    const range = node.ownerDocument.createRange();
    range.selectNodeContents(node);
    return range.getClientRects().length > 0;
  };

  // Whether something else has appeared than the input itself, shown as a message of the user.
  const isAnswered = (watched) => {
    if (watched.fresh) return true;
    let echoed = false;
    const typed = letters(watched.typed);
    for (const batch of watched.batches) {
      const shown = new Set([...batch].flatMap((root) => textNodes(root)).filter(isShown));
      const texts = [...shown].map((node) => letters(node.data)).filter((given) => given !== "");
      const whole = texts.join("");
      const added = texts.filter((given) => !watched.texts.has(given)).join("");
      if (added === "") continue;
      const bare = whole === typed || added === typed;
      const decorated = typed !== "" && added.includes(typed) && added.length - typed.length <= DECORATION;
      if (!bare && (echoed || !decorated)) return true;
      echoed = true;
    }
    return false;
  };

  const textsOfPage = () =>
    new Set(roots({ frames: true }).flatMap((root) => textNodes(root)).map((node) => letters(node.data)));

  // An inert copy: shadow roots become templates, documents of frames follow their frame.
  const copy = (node, inert) => {
    const made = inert.importNode(node, false);
    if (node.shadowRoot) {
      const template = inert.createElement("template");
      template.setAttribute("shadowrootmode", "open");
      for (const child of node.shadowRoot.childNodes) template.content.append(...copy(child, inert));
      made.append(template);
    }
    const source = node.localName === "template" && node.content ? node.content : node;
    const target = node.localName === "template" && made.content ? made.content : made;
    for (const child of source.childNodes) target.append(...copy(child, inert));
    const inner = node.nodeType === Node.ELEMENT_NODE ? frameDocument(node) : null;
    if (!inner?.body) return [made];
    const frame = inert.createElement("mcpeval-frame");
    frame.setAttribute("src", node.getAttribute("src") ?? "");
    for (const child of inner.body.childNodes) frame.append(...copy(child, inert));
    return [made, frame];
  };

  const commands = {
    // The page as HTML.
    dom: () => {
      const page = document.documentElement;
      if (roots({ frames: true }).length === 1) return page.outerHTML;
      const inert = document.implementation.createHTMLDocument("");
      return copy(page, inert)[0].outerHTML;
    },

    // Where the page is; the status is 0 where the browser does not tell it.
    place: () => ({
      url: location.href,
      protocol: location.protocol,
      loading: document.readyState,
      status: performance.getEntriesByType("navigation")[0]?.responseStatus ?? 0,
    }),

    // Without frames: drivers type into the page itself.
    count: (selector) => matches(selector, { frames: false }).filter(isVisible).length,

    // Begin to learn what goes on anyway. `texts_changed`: how often texts did.
    attend: () => {
      const state = pageState();
      observe(state);
      return { texts_changed: state.texts_changed, attended_ms: Math.round(performance.now() - state.began) };
    },

    // Begin to watch what a submission changes. `fresh`: the page is a new one, so all of it has changed.
    watch: ({ selector, typed, fresh }) => {
      const state = pageState();
      noteAll(state, state.observer.takeRecords());
      const now = performance.now();
      const seen = fresh || selector === null ? [] : matches(selector, { frames: true });
      state.watched = {
        selector,
        fresh,
        typed: typed.replace(/\s+/g, ""),
        input: fresh ? null : focused(),
        since: now,
        seen: new Set(seen),
        unseen: new Set(seen.filter((element) => !isVisible(element))),
        left: new Set(),
        texts: textsOfPage(),
        batches: [],
        changes: fresh ? 1 : 0,
        grown: fresh ? 1 : 0,
        changed: now,
        pauses: [],
      };
      state.observed = new WeakSet();
      observe(state);
      return true;
    },

    // What has changed since; null on a page that is not watched. `rhythm_ms` is the longer one of the last two
    // pauses between changes, 0 before there were two.
    changes: () => {
      const state = window[KEY];
      if (!state?.watched) return null;
      observe(state);
      noteAll(state, state.observer.takeRecords());
      const { watched } = state;
      const quiet = watched.changes === 0 ? null : Math.round(performance.now() - watched.changed);
      return {
        input_holds: holdsInput(watched),
        grown: watched.grown,
        changes: watched.changes,
        quiet_ms: quiet,
        rhythm_ms: watched.pauses.length < 2 ? 0 : Math.round(Math.max(...watched.pauses)),
        ready: isReady(watched),
      };
    },

    // Whether there is more than what repeats the input.
    answered: () => {
      const watched = window[KEY]?.watched;
      return watched ? isAnswered(watched) : false;
    },
  };
  return commands[name](argument);
}
