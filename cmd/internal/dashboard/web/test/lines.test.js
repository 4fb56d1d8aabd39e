// A line is drawn where there are values, and nowhere else.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { band, columns, pieces } from '../src/lines.js'

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

test('a column has the lowest, the median and the highest of its samples', () => {
  const c = columns([0, 1, 2, 3, 4, 5], [5, 1, 3, 9, null, 7], same)
  assert.deepEqual([c.times, c.low, c.middle, c.high], [[3, 5], [1, 7], [3, 7], [9, 7]])
  assert.deepEqual(columns([], [], same).times, [])
  assert.deepEqual(columns([0, 1], [null, null], same).low, [null])
})

test('a band goes around the values of columns, and over no gap', () => {
  const c = (times, low, high) => ({ times, low, high, most: 5 })
  assert.equal(band(c([0, 4], [1, 2], [3, 4]), same, same), 'M0.0 3.0L4.0 4.0L4.0 2.0L0.0 1.0Z')
  assert.equal(band(c([0, 4, 60, 64], [1, 2, 1, 2], [3, 4, 3, 4]), same, same).split('M').length - 1, 2)
  assert.equal(band(c([0, 4, 8], [1, null, 1], [3, null, 3]), same, same), '')
  assert.equal(band(c([0, 4], [0, 1], [3, 4]), same, (v) => (v > 0 ? v : null)), '')
})
