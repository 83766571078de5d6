"use strict";
// Sorts, searches and filters the claims. The page says the same without it.
(function () {
  var controls = document.getElementById("controls");
  var claims = Array.prototype.slice.call(document.querySelectorAll("tbody.claim"));
  if (!controls || !claims.length) { return; }
  controls.hidden = false;
  var search = document.getElementById("search");
  var choices = Array.prototype.slice.call(controls.querySelectorAll("select.choice"));
  var shown = document.getElementById("shown");
  var opened = [];
  claims.forEach(function (claim, number) {
    claim.order = number;
    // What the claim counts as: a list of what each such thing can be chosen by.
    claim.facets = claim.getAttribute("data-f").split("|").map(function (facet) {
      return facet.split(" ");
    });
    claim.keys = claim.getAttribute("data-o").split(" ");
    claim.words = claim.textContent.toLowerCase() + " " + claim.id.toLowerCase();
  });

  function fitting(claim, words) {
    if (!words.every(function (word) { return claim.words.indexOf(word) >= 0; })) { return []; }
    return claim.facets.filter(function (facet) {
      return choices.every(function (choice) {
        return !choice.value || facet.indexOf(choice.value) >= 0;
      });
    });
  }

  // The number that the page tells of what is shown: of one kind of things, each counted once.
  function told(numbers) {
    return Array.prototype.slice.call(document.querySelectorAll("option[value^='k:']"))
      .filter(function (kind) { return numbers[kind.value]; })
      .map(function (kind) { return numbers[kind.value] + " " + kind.text; }).join(", ");
  }

  function filter() {
    var words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    var active = words.length > 0 || choices.some(function (choice) { return choice.value; });
    var count = 0, numbers = {};
    claims.forEach(function (claim) {
      var found = fitting(claim, words), fit = found.length > 0;
      found.forEach(function (facet) {
        var kind = facet.filter(function (token) { return token.indexOf("k:") === 0; })[0];
        numbers[kind] = (numbers[kind] || 0) + 1;
      });
      claim.hidden = !fit;
      if (fit) { count += 1; }
      var folded = claim.closest("details.group");
      if (fit && active && folded && !folded.open) { folded.open = true; opened.push(folded); }
    });
    if (!active) {
      opened.forEach(function (folded) { folded.open = false; });
      opened = [];
    }
    var kinds = told(numbers);
    shown.textContent = count + " of " + claims.length + " claims" + (kinds ? ": " + kinds : "");
  }

  // What a claim is sorted by: its place in the page, ratio, severity, or source and line.
  var orders = {
    order: function (claim) { return claim.order; },
    ratio: function (claim) { return claim.keys[0] === "-" ? NaN : Number(claim.keys[0]); },
    severity: function (claim) { return Number(claim.keys[1]); },
    place: function (claim) { return claim.keys[2]; }
  };

  function sort() {
    var value = document.getElementById("order").value.split("-");
    var key = orders[value[0]], sign = value[1] === "down" ? -1 : 1;
    Array.prototype.forEach.call(document.querySelectorAll("table.claims"), function (table) {
      Array.prototype.slice.call(table.querySelectorAll("tbody.claim")).sort(function (one, other) {
        var a = key(one), b = key(other), last = Number(a !== a) - Number(b !== b);
        return last || (a < b ? -sign : a > b ? sign : one.order - other.order);
      }).forEach(function (claim) { table.appendChild(claim); });
    });
  }

  function reveal() {
    var claim = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (claim && claim.tagName === "DETAILS") { claim.open = true; }
    if (!claim || !claim.classList.contains("claim")) { return; }
    if (claim.hidden) { choose(""); }
    var folded = claim.closest("details.group");
    if (folded) { folded.open = true; }
    claim.querySelector("details").open = true;
    claim.scrollIntoView();
  }

  search.addEventListener("input", filter);
  choices.forEach(function (choice) { choice.addEventListener("change", filter); });
  document.getElementById("order").addEventListener("change", sort);
  // Shows what a number was told by: the values of the choices, and nothing searched for.
  function choose(values) {
    search.value = "";
    choices.forEach(function (choice) {
      choice.value = values.split(" ").filter(function (value) {
        return choice.querySelector("option[value='" + value + "']");
      })[0] || "";
    });
    filter();
  }

  document.getElementById("reset").addEventListener("click", function () {
    document.getElementById("order").value = "order-up";
    choose("");
    sort();
  });
  Array.prototype.forEach.call(document.querySelectorAll("[data-show]"), function (link) {
    link.addEventListener("click", function () { choose(link.getAttribute("data-show")); });
  });
  window.addEventListener("hashchange", reveal);
  filter();
  reveal();
}());
