"use strict";
// Sorts, searches and filters the claims; the page says the same without it. The address tells what
// is chosen: "#claim?v=misstated&q=words" names a claim, or another part, and the choices.
(() => {
  const controls = document.getElementById("controls");
  const claims = [...document.querySelectorAll("tbody.claim")];
  if (!controls || !claims.length) { return; }
  controls.hidden = false;
  const search = document.getElementById("search");
  const order = document.getElementById("order");
  const shown = document.getElementById("shown");
  const choices = [...controls.querySelectorAll("select.choice")];
  const kinds = [...controls.querySelectorAll("select[name=k] option")];
  const unfolded = new Set();
  claims.forEach((claim, number) => {
    claim.order = number;
    // What the claim counts as: a list of what each such thing can be chosen by.
    claim.facets = claim.dataset.f.split("|").map((facet) => facet.split(" "));
    claim.keys = claim.dataset.o.split(" ");
    claim.words = `${claim.textContent} ${claim.id}`.toLowerCase();
  });

  function fitting(claim, words) {
    if (!words.every((word) => claim.words.includes(word))) { return []; }
    return claim.facets.filter((facet) => choices.every((choice) =>
      !choice.value || facet.includes(`${choice.name}:${choice.value}`)));
  }

  // Shows what fits, and the claim that the address names, whether it fits or not.
  function filter(named) {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const active = words.length > 0 || choices.some((choice) => choice.value);
    const numbers = {};
    let count = 0, besides = "";
    for (const claim of claims) {
      const found = fitting(claim, words);
      for (const facet of found) {
        const kind = facet.find((token) => token.startsWith("k:"));
        numbers[kind] = (numbers[kind] || 0) + 1;
      }
      count += found.length > 0;
      claim.hidden = !found.length && claim !== named;
      if (!found.length && claim === named) { besides = ", and the one named"; }
      claim.classList.toggle("named", claim === named);
      const folded = claim.closest("details.group");
      if (found.length && active && folded && !folded.open) {
        folded.open = true;
        unfolded.add(folded);
      }
    }
    if (!active) {
      unfolded.forEach((folded) => { folded.open = false; });
      unfolded.clear();
    }
    const told = kinds.filter((kind) => numbers[`k:${kind.value}`])
      .map((kind) => `${numbers[`k:${kind.value}`]} ${kind.text}`).join(", ");
    shown.textContent = count ? `${count} of ${claims.length} claims${told && `: ${told}`}${besides}`
      : `No claim fits${besides && " but the one named"}. Reset shows all.`;
  }

  // What a claim is sorted by: its place in the page, ratio, severity, or source and line.
  const orders = {
    order: (claim) => claim.order,
    ratio: (claim) => claim.keys[0] === "-" ? NaN : Number(claim.keys[0]),
    severity: (claim) => Number(claim.keys[1]),
    place: (claim) => claim.keys[2],
  };

  function sort() {
    const [name, way] = order.value.split("-");
    const key = orders[name], sign = way === "down" ? -1 : 1;
    for (const table of document.querySelectorAll("table.claims")) {
      table.append(...[...table.querySelectorAll("tbody.claim")].sort((one, other) => {
        const a = key(one), b = key(other), last = Number(a !== a) - Number(b !== b);
        return last || (a < b ? -sign : a > b ? sign : one.order - other.order);
      }));
    }
  }

  function chosen() {
    const fields = [...choices, search, order].filter((field) => field.value && field.value !== "order-up");
    return new URLSearchParams(fields.map((field) => [field.name, field.value])).toString();
  }

  const parts = (address) => [...address.slice(1).split("?"), ""];

  function remember(id, values, replace) {
    const address = `#${id}${values && `?${values}`}`;
    if (address !== location.hash) {
      history[replace ? "replaceState" : "pushState"](null, "", address);
    }
  }

  // Brings the page to what the address says.
  function show() {
    const [id, values] = parts(location.hash), given = new URLSearchParams(values);
    for (const field of [...choices, search, order]) {
      field.value = given.get(field.name) || "";
      if (field.selectedIndex === -1) { field.selectedIndex = 0; }
    }
    const named = document.getElementById(decodeURIComponent(id));
    sort();
    filter(named);
    if (!named) { return; }
    for (let each = named; each; each = each.parentElement) {
      if (each.tagName === "DETAILS") { each.open = true; }
    }
    if (named.classList.contains("claim")) { named.querySelector("details").open = true; }
    named.scrollIntoView();
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) { return; }
    event.preventDefault();
    const [id, values] = parts(link.getAttribute("href"));
    remember(id, values || chosen());
    show();
    const named = document.getElementById(id);
    if (named) {
      named.tabIndex = -1;
      named.focus({preventScroll: true});
    }
  });
  document.querySelectorAll("[data-show]").forEach((link) => {
    link.setAttribute("href", `#claims?${link.dataset.show}`);
  });
  search.addEventListener("input", () => { filter(); remember("claims", chosen(), true); });
  [...choices, order].forEach((field) => field.addEventListener("change", () => {
    sort();
    filter();
    remember("claims", chosen());
  }));
  document.getElementById("reset").addEventListener("click", () => { remember("claims", ""); show(); });
  window.addEventListener("hashchange", show);

  // On paper every claim stands; its details, where the reader opened them: all fill 300 pages.
  let before = null;
  window.addEventListener("beforeprint", () => {
    const folded = [...document.querySelectorAll("details.group")];
    before = before || [folded.filter((each) => !each.open), claims.filter((claim) => claim.hidden)];
    folded.forEach((each) => { each.open = true; });
    claims.forEach((claim) => { claim.hidden = false; });
  });
  window.addEventListener("afterprint", () => {
    if (!before) { return; }
    before[0].forEach((each) => { each.open = false; });
    before[1].forEach((claim) => { claim.hidden = true; });
    before = null;
  });
  show();
})();
