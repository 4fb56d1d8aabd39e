'use strict'
// 64-bit IDs that never repeat within a namespace of a store. The C library does the work: install it with
// "make install", or name the file in SNOWFENCE_LIBRARY.

const koffi = require('koffi')

function load (name) {
  try {
    return koffi.load(name)
  } catch (e) {
    throw new Error(`the C library cannot be loaded (${e.message}): build and install it in a clone of ` +
      'https://github.com/snowfence/snowfence with "make lib && sudo make install && sudo ldconfig", ' +
      'or name its file in SNOWFENCE_LIBRARY')
  }
}

const lib = load(process.env.SNOWFENCE_LIBRARY || 'libsnowfence.so.1')
if (lib.func('int snowfence_abi_version(void)')() !== 1) {
  throw new Error('libsnowfence has another ABI version than this package, which is for 1')
}

const partsType = koffi.struct('snowfence_parts', {
  tick: 'int64_t', seconds: 'int64_t', nanoseconds: 'int64_t', node: 'int64_t', sequence: 'int64_t',
  rollback: 'int64_t', key: 'int64_t'
})
// A handle is a number, which is never followed.
const c = {
  lastError: lib.func('size_t snowfence_last_error(_Out_ uint8_t *buf, size_t size)'),
  open: lib.func('int snowfence_open(const char *store, const char *ns, const char *options, _Out_ uint64_t *out)'),
  openStateFile: lib.func('int snowfence_open_statefile(const char *path, const char *layout, int64_t node, const char *options, _Out_ uint64_t *out)'),
  openStatic: lib.func('int snowfence_open_static(const char *layout, int64_t node, const char *options, _Out_ uint64_t *out)'),
  take: lib.func('int snowfence_take(uint64_t ids, _Out_ int64_t *buf, size_t n, _Out_ size_t *made)'),
  fill: lib.func('int snowfence_fill(uint64_t ids, _Out_ int64_t *buf, size_t n, _Out_ size_t *made)'),
  beat: lib.func('int snowfence_beat(uint64_t ids, _Out_ void **beat)'),
  close: lib.func('int snowfence_close(uint64_t ids)'),
  sequenceOpen: lib.func('int snowfence_sequence_open(const char *store, const char *name, _Out_ uint64_t *out)'),
  sequenceNext: lib.func('int snowfence_sequence_next(uint64_t sequence, _Out_ int64_t *number)'),
  sequenceSerial: lib.func('int snowfence_sequence_serial(uint64_t sequence, _Out_ uint8_t *buf, size_t size, _Out_ size_t *length)'),
  sequenceClose: lib.func('int snowfence_sequence_close(uint64_t sequence)'),
  decode: lib.func('int snowfence_decode(const char *layout, int64_t id, _Out_ snowfence_parts *parts)'),
  decodeOwn: lib.func('int snowfence_decode_own(uint64_t ids, int64_t id, _Out_ snowfence_parts *parts)'),
  format: lib.func('int snowfence_format(int64_t id, const char *encoding, _Out_ uint8_t *buf, size_t size, _Out_ size_t *length)'),
  parse: lib.func('int snowfence_parse(const char *text, const char *encoding, _Out_ int64_t *id)')
}

const names = {
  1: 'FENCED', 2: 'EXHAUSTED', 3: 'LIFETIME', 4: 'INVALID', 5: 'CLOSED', 6: 'FORKED', 7: 'STORE', 8: 'TAKEN',
  9: 'NOT_LOADED', 10: 'TOO_SMALL', 11: 'TOO_MANY', 12: 'ENDED', 13: 'ROLLED_BACK', 14: 'INTERNAL'
}

class SnowfenceError extends Error {
  constructor (status) {
    const buf = Buffer.alloc(1024)
    const n = Number(c.lastError(buf, buf.length))
    super(buf.toString('utf8', 0, Math.min(n, buf.length - 1)))
    this.name = 'SnowfenceError'
    this.status = status
    this.code = 'SNOWFENCE_' + names[status]
  }
}

function check (status) {
  if (status !== 0) throw new SnowfenceError(status)
}

function text (value, what) {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string' || value.includes('\0')) throw new TypeError(`${what} is a string without zero bytes`)
  return value
}

function int64 (value, what) {
  if (typeof value === 'number' && Number.isSafeInteger(value)) value = BigInt(value)
  if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) {
    throw new TypeError(`${what} is a BigInt of at most 64 bits`)
  }
  return value
}

function optionText (options) {
  if (options === undefined || options === null) return null
  if (typeof options !== 'object') throw new TypeError('options are an object, such as { lead: 2000 }')
  const pairs = []
  for (const [key, value] of Object.entries(options)) {
    const name = key.replace(/[A-Z]/g, l => '-' + l.toLowerCase())
    if (value === undefined || value === null) continue
    for (const one of Array.isArray(value) ? value : [value]) {
      const word = typeof one === 'boolean' ? Number(one) : one
      if (String(word).includes(',') && name !== 'layout') throw new TypeError(`option ${key} cannot have a comma`)
      pairs.push(`${name}=${word}`)
    }
  }
  pairs.sort((a, b) => a.startsWith('layout=') - b.startsWith('layout=')) // a layout has commas: it stands last
  return pairs.length > 0 ? text(pairs.join(','), 'options') : null
}

// A call costs many microseconds on the main thread, hence large batches.
const least = 16
const most = 16384

class Generator {
  #handle
  #closed = false
  #beat // two halves of 32 bits in the memory of the library
  #low = 0 // the beat before the refill
  #high = 0
  #buf = new BigInt64Array(most)
  #at = 0
  #end = 0
  #size = least

  constructor (handle) {
    this.#handle = handle
    const address = [null]
    check(c.beat(handle, address))
    this.#beat = new Int32Array(koffi.view(address[0], 8))
  }

  /** Makes an ID. */
  next () {
    if (this.#at < this.#end && this.#beat[0] === this.#low && this.#beat[1] === this.#high) {
      return this.#buf[this.#at++]
    }
    return this.#refill()
  }

  #refill () {
    const low = this.#beat[0] // before the IDs are made
    const high = this.#beat[1]
    const left = this.#end - this.#at
    if (left === 0 && low === this.#low && high === this.#high) {
      this.#size = Math.min(2 * this.#size, most)
    } else if (left > this.#size / 2) {
      this.#size = Math.max(this.#size / 2, least)
    }
    this.#at = this.#end = 0
    const made = [0]
    check(c.take(this.#handle, this.#buf, this.#size, made))
    this.#low = low
    this.#high = high
    this.#at = 1
    this.#end = Number(made[0])
    return this.#buf[0]
  }

  /** Makes n IDs, in increasing order, the first of them from those that next took ahead. */
  take (n) {
    if (!Number.isSafeInteger(n) || n < 0) throw new TypeError('n is how many IDs, from 0 up')
    const ids = new BigInt64Array(n)
    let made = 0
    if (this.#beat[0] === this.#low && this.#beat[1] === this.#high) {
      made = Math.min(n, this.#end - this.#at)
      ids.set(this.#buf.subarray(this.#at, this.#at + made))
      this.#at += made
    }
    if (made < n) check(c.fill(this.#handle, ids.subarray(made), n - made, [0]))
    return ids
  }

  /** Takes an ID apart, with the layout and the secrets of this generator. */
  decode (id) {
    const parts = {}
    check(c.decodeOwn(this.#handle, int64(id, 'id'), parts))
    return partsOf(parts)
  }

  /** Ends the generator and gives its node back. A second call does nothing. */
  close () {
    if (this.#closed) return
    this.#closed = true
    check(c.close(this.#handle))
  }

  * [Symbol.iterator] () {
    for (;;) yield this.next()
  }
}

class Sequence {
  #handle
  #closed = false

  constructor (handle) { this.#handle = handle }

  /** Takes a number. */
  next () {
    const number = [0n]
    check(c.sequenceNext(this.#handle, number))
    return BigInt(number[0])
  }

  /** Takes a number as text, such as RE-2026-000017 of a dated sequence. */
  serial () {
    const buf = Buffer.alloc(128)
    const length = [0]
    check(c.sequenceSerial(this.#handle, buf, buf.length, length))
    return buf.toString('utf8', 0, Number(length[0]))
  }

  close () {
    if (this.#closed) return
    this.#closed = true
    check(c.sequenceClose(this.#handle))
  }
}

if (Symbol.dispose) { // "using ids = open(…)"
  for (const type of [Generator, Sequence]) type.prototype[Symbol.dispose] = type.prototype.close
}

function partsOf (p) {
  return {
    tick: BigInt(p.tick),
    time: new Date(Number(p.seconds) * 1000 + Math.floor(Number(p.nanoseconds) / 1e6)),
    node: BigInt(p.node),
    sequence: BigInt(p.sequence),
    rollback: BigInt(p.rollback),
    key: Number(p.key)
  }
}

function opened (Type, call, ...args) {
  const out = [0]
  check(call(...args, out))
  return new Type(out[0])
}

function open (store, namespace, options) {
  return opened(Generator, c.open, text(store, 'store'), text(namespace, 'namespace'), optionText(options))
}

function openStateFile (path, node, layout, options) {
  return opened(Generator, c.openStateFile, text(path, 'path'), text(layout, 'layout'), int64(node, 'node'), optionText(options))
}

function openStatic (node, layout, options) {
  return opened(Generator, c.openStatic, text(layout, 'layout'), int64(node, 'node'), optionText(options))
}

function openSequence (name, store) {
  return opened(Sequence, c.sequenceOpen, text(store, 'store'), text(name, 'name'))
}

function decode (id, layout) {
  const parts = {}
  check(c.decode(text(layout, 'layout'), int64(id, 'id'), parts))
  return partsOf(parts)
}

function format (id, encoding) {
  const buf = Buffer.alloc(80)
  const length = [0]
  check(c.format(int64(id, 'id'), text(encoding, 'encoding'), buf, buf.length, length))
  return buf.toString('latin1', 0, Number(length[0]))
}

function parse (value, encoding) {
  const id = [0n]
  check(c.parse(text(value, 'text'), text(encoding, 'encoding'), id))
  return BigInt(id[0])
}

// Node.js finds the names for import in this form alone.
module.exports = { SnowfenceError, Generator, Sequence, open, openStateFile, openStatic, openSequence, decode, format, parse }
