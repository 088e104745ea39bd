// What the page knows: a head as JSON, and columns of numbers behind it.

/**
 * @typedef {{type: "u1" | "u2" | "u4" | "i4" | "f8", at: number, length: number}} Place
 * @typedef {Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array} Numbers
 * @typedef {{title: string, shows: string, means: string, rank: number, right: boolean, style: string, styles: string[],
 *   cells: string[]}} Column
 * @typedef {{kind: "heading", text: string, said: string, style: string}} Heading
 * @typedef {{kind: "paragraph", text: string, style: string}} Paragraph
 * @typedef {{kind: "facts", facts: [string, string][]}} Facts
 * @typedef {{kind: "said", label: string, text: string, style: string, command: boolean}} Said
 * @typedef {{kind: "table", columns: Column[], parts: [string, string, number][], notes: string[],
 *   below?: string[][]}} Table
 * @typedef {Heading | Paragraph | Facts | Said | Table} Block
 * @typedef {{name: string, means: string, blocks: Block[]}} Section
 * @typedef {{name: string, line: number, function: string}} CodePlace
 * @typedef {{what: string, step: number, number: number, length: number, took: string, left_out: number,
 *   lanes: [string, number][], rects: Record<string, Place>}} Stretch
 * @typedef {{what: string, unit: string, length: number, took: string, lanes: number, notes: string[], rest: string,
 *   rects: Record<string, Place>}} Tree
 * @typedef {{self: number, bars: number[], python: number, gpu: number, allocated: number,
 *   texts: string[]}} Figures
 * @typedef {{line: number, text: string, figures: Figures | null, place?: number}} CodeLine
 * @typedef {{file: string, missing: string, length: number, lines: CodeLine[]}} CodeFile
 * @typedef {{row: Place, length: Place, mark: Place, marks: string[], median: number, took: string,
 *   left_out: number, phases: {name: string, time: Place, whole: number}[]}} Steps
 * @typedef {{time: Place, held: {name: string, bytes: Place}[], peak: number, took: string}} Memory
 * @typedef {{format: number, title: string, versions: string[], screen: Block[], sections: Section[],
 *   timeline: {stretches: Stretch[], kinds: string[], names: string[], inputs: string[]},
 *   flames: {trees: Tree[], names: string[], kinds: string[], missing: string},
 *   sources: CodeFile[], bars: string[], steps: Steps | null, memory: Memory | null,
 *   callgraph: {svg?: string, missing?: string}, places: CodePlace[]}} Head
 */

const ALIGNED = 8;
const ARRAYS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f8: Float64Array };

/** The head, and the columns that it refers to. */
export class Known {
  /** @param {ArrayBuffer} bytes */
  constructor(bytes) {
    const length = new DataView(bytes).getUint32(0, true);
    const text = new TextDecoder().decode(new Uint8Array(bytes, ALIGNED, length));
    /** @type {Head} */
    this.head = JSON.parse(text);
    this.bytes = bytes;
    this.first = ALIGNED + length;
  }

  /**
   * A column, without a copy.
   * @param {Place} place
   * @returns {Numbers}
   */
  column(place) {
    return new ARRAYS[place.type](this.bytes, this.first + place.at, place.length);
  }
}

/**
 * Reads what a script element has: gzip in base64.
 * @param {string} text
 * @returns {Promise<Known>}
 */
export async function read(text) {
  const packed = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Known(await new Response(stream).arrayBuffer());
}
