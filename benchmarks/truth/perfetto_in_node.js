// Runs Perfetto's trace processor, as its page does, in node: node perfetto_in_node.js FOLDER REQUESTS ANSWERS
// FOLDER has the page's engine_bundle.js and trace_processor*.wasm. The engine expects a browser's worker.
const fs = require('fs');
const path = require('path');
const [folder, requests, answers] = process.argv.slice(2);
const exit = process.exit.bind(process);
const parts = [];
const file = (url) => fs.readFileSync(path.join(folder, String(url).split('/').pop()));

globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.importScripts = () => {};
globalThis.location = {href: `file://${folder}/engine_bundle.js`};
globalThis.fetch = async (url) => new Response(file(url), {headers: {'Content-Type': 'application/wasm'}});
globalThis.XMLHttpRequest = class {
  open(_, url) { this.url = url; }
  setRequestHeader() {}
  send() {
    const bytes = file(this.url);
    this.status = 200;
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    if (this.onload) this.onload();
  }
};
// The engine takes node for node, and then does not find its files.
Object.defineProperty(globalThis, 'process', {value: undefined, configurable: true});
(0, eval)(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'));
const port = {postMessage: (message) => parts.push(Buffer.from(message))};
globalThis.onmessage({data: port});
setTimeout(() => {  // when it has compiled
  port.onmessage({data: new Uint8Array(fs.readFileSync(requests))});
  fs.writeFileSync(answers, Buffer.concat(parts));
  exit(0);
}, 10000);
