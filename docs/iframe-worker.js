// Browsers refuse workers to a page that was opened from a folder; there, search runs in a frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.ready = new Promise((resolve) => {
        frame.onload = () => {
          const inside = frame.contentWindow;
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          inside.importScripts = (...urls) =>
            urls.reduce((before, next) => before.then(() => load(inside, next)), Promise.resolve());
          load(inside, url).then(() => resolve(inside));
        };
      });
      document.body.append(frame);
    }

    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };

  const load = (inside, url) =>
    new Promise((resolve, reject) => {
      const script = inside.document.createElement("script");
      Object.assign(script, { src: url, onload: resolve, onerror: reject });
      inside.document.body.append(script);
    });
}
