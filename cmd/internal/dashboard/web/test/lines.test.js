// A line is drawn where there are values, and nowhere else.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pieces } from '../src/lines.js'

const same = (v) => v
const drawn = (times, values, y = same) => pieces(times, values, same, y).map(([d]) => d)

test('a line goes through values that follow each other', () => {
  assert.deepEqual(drawn([1, 2, 3], [4, 0, 6]), ['M1.0 4.0h0L2.0 0.0L3.0 6.0'])
})

test('no line goes over a time without values', () => {
  assert.deepEqual(drawn([1, 2, 3, 4], [4, null, 6, 7]), ['M1.0 4.0h0', 'M3.0 6.0h0L4.0 7.0'])
  assert.deepEqual(drawn([1, 2, 3], [null, null, null]), [])
})

test('no line goes over a time without samples', () => {
  assert.deepEqual(drawn([1, 2, 60, 61], [4, 5, 6, 7]), ['M1.0 4.0h0L2.0 5.0', 'M60.0 6.0h0L61.0 7.0'])
})

test('what has no place on a logarithmic axis is not drawn', () => {
  assert.deepEqual(drawn([1, 2, 3], [4, 0, 6], (v) => (v > 0 ? v : null)), ['M1.0 4.0h0', 'M3.0 6.0h0'])
})
