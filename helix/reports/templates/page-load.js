"use strict";
(() => {
  const script = document.createElement("script");
  const address = "report.js";
  script.src = window.trustedTypes
    ? trustedTypes.createPolicy("helix-load", { createScriptURL: () => address }).createScriptURL("") : address;
  document.body.append(script);
})();
