// What the files here use of Node.js, in place of the package @types/node.
interface Buffer extends Uint8Array<ArrayBuffer> {
  map(change: (value: number, index: number, all: this) => number): Buffer;
  reverse(): this;
  toString(encoding?: "hex"): string;
}
declare const Buffer: {
  from(data: string, encoding?: "hex" | "utf8"): Buffer;
  from(data: ArrayLike<number>): Buffer;
};
declare module "node:crypto" {
  function createCipheriv(name: string, key: Uint8Array, iv: null): {
    setAutoPadding(on: boolean): void;
    update(data: Uint8Array): Buffer;
  };
  interface Hash {
    update(data: string | Uint8Array): Hash;
    digest(encoding: "hex"): string;
  }
  function createHash(name: string): Hash;
}
declare module "node:fs" {
  function readFileSync(path: string, encoding: "utf8"): string;
}
declare const process: { argv: string[]; exit(code: number): never };
declare const console: { log(text: string): void };
