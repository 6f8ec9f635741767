// Parts of the page: base64 of gzip, unpacked when they are first needed; arrays are views of one buffer.
const head = JSON.parse(document.getElementById("head").textContent);
const KINDS = {u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array, f8: Float64Array};
const waiting = new Map();

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

async function unpack(name) {
  const bytes = fromBase64(document.getElementById("part-" + name).textContent.trim());
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Part(await new Response(stream).arrayBuffer(), head.parts[name]);
}

function part(name) {
  if (!waiting.has(name)) waiting.set(name, unpack(name));
  return waiting.get(name);
}

class Part {
  constructor(buffer, directory) {
    this.buffer = buffer;
    this.directory = directory;
  }
  has(name) { return name in this.directory; }
  array(name) {
    const [kind, offset, length] = this.directory[name];
    return new KINDS[kind](this.buffer, offset, length);
  }
  strings(name) { return new Strings(this.array(name + ".bytes"), this.array(name + ".lengths")); }
  json(name) { return JSON.parse(new TextDecoder().decode(this.array(name))); }
  planes(name) {
    const low = this.array(name + ".low"), high = this.array(name + ".high"), out = new Uint16Array(low.length);
    for (let i = 0; i < low.length; i++) out[i] = low[i] | high[i] << 8;
    return out;
  }
  scaled(name) {
    const raw = this.array(name), scale = this.array(name + ".scale")[0] / 65534;
    return Float32Array.from(raw, value => value === 65535 ? NaN : value * scale);
  }
}

// Many texts in one array of bytes; each is decoded when it is asked for.
class Strings {
  constructor(bytes, lengths) {
    this.bytes = bytes;
    this.starts = sums(lengths);
    this.decoder = new TextDecoder();
  }
  get length() { return this.starts.length - 1; }
  at(i) { return this.decoder.decode(this.bytes.subarray(this.starts[i], this.starts[i + 1])); }
  all() { return this.kept ??= Array.from({length: this.length}, (_, i) => this.at(i)); }
  find(text) {
    this.places ??= new Map(this.all().map((one, i) => [one, i]).reverse());
    return this.places.get(text) ?? -1;
  }
}

function sums(lengths) {
  const starts = new Uint32Array(lengths.length + 1);
  for (let i = 0; i < lengths.length; i++) starts[i + 1] = starts[i] + lengths[i];
  return starts;
}
