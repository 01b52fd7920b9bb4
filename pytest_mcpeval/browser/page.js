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

  const visibleMatches = (selector, { frames }) =>
    roots({ frames }).flatMap((root) => [...root.querySelectorAll(selector)].filter(isVisible));

  const focused = () => {
    let element = document.activeElement;
    for (;;) {
      const inner = element?.shadowRoot?.activeElement ?? (element && frameDocument(element)?.activeElement);
      if (!inner) return element;
      element = inner;
    }
  };

  const text = (element) => (element.value ?? element.textContent ?? "").replace(/\s+/g, "");

  const holdsInput = (watched) =>
    watched.input !== null && watched.input.isConnected && text(watched.input).includes(watched.typed);

  const isInInput = (watched, node) => watched.input !== null && (watched.input === node || watched.input.contains(node));

  const observe = (watched) => {
    for (const root of roots({ frames: true })) {
      if (watched.observed.has(root)) continue;
      watched.observed.add(root);
      watched.observer.observe(root, {
        childList: true,
        characterData: true,
        subtree: true,
        attributes: true,
        // Others come from animations and carets, which never end.
        attributeFilter: ["hidden", "open", "disabled", "aria-busy", "aria-hidden"],
      });
    }
  };

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
    count: (selector) => visibleMatches(selector, { frames: false }).length,

    // Begin to watch what a submission changes. `fresh`: the page is a new one, so all of it has changed.
    watch: ({ selector, typed, fresh }) => {
      const now = performance.now();
      const watched = {
        selector,
        typed: typed.replace(/\s+/g, ""),
        input: fresh ? null : focused(),
        seen: new WeakSet(fresh || selector === null ? [] : visibleMatches(selector, { frames: true })),
        observed: new WeakSet(),
        changes: fresh ? 1 : 0,
        grown: fresh ? 1 : 0,
        changed: now,
      };
      watched.observer = new MutationObserver((records) => {
        const outside = records.filter((record) => !isInInput(watched, record.target));
        if (outside.length === 0) return;
        watched.changes += outside.length;
        watched.grown += outside.filter((record) => record.addedNodes.length > 0).length;
        watched.changed = performance.now();
      });
      Object.defineProperty(window, KEY, { value: watched, configurable: true });
      observe(watched);
      return true;
    },

    // What has changed since; null on a page that is not watched.
    changes: () => {
      const watched = window[KEY];
      if (!watched) return null;
      observe(watched);
      return {
        input_holds: holdsInput(watched),
        grown: watched.grown,
        quiet_ms: watched.changes === 0 ? null : Math.round(performance.now() - watched.changed),
        ready:
          watched.selector !== null &&
          visibleMatches(watched.selector, { frames: true }).some((element) => !watched.seen.has(element)),
      };
    },

    end_watch: () => {
      window[KEY]?.observer.disconnect();
      delete window[KEY];
      return true;
    },
  };
  return commands[name](argument);
}
