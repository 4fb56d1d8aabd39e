// The palette is measured: contrast as WCAG 2 counts it, and whether colours that mean different things differ for people with each kind of colour blindness
// (the matrices of Machado, Oliveira and Fernandes, 2009, at full strength; distances in OKLab).

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFileSync } from 'node:fs'

const css = readFileSync(new URL('../src/style.css', import.meta.url), 'utf8')

function variables(selector) {
  const start = css.indexOf(`${selector} {`)
  const block = css.slice(start, css.indexOf('}', start))
  return Object.fromEntries([...block.matchAll(/--([a-z0-9-]+): (#[0-9a-f]{6})/g)].map((m) => [m[1], m[2]]))
}

const linear = (hex) =>
  [1, 3, 5].map((i) => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  })
const times = (m, v) => m.map((row) => row.reduce((sum, x, i) => sum + x * v[i], 0))
const luminance = (hex) => times([[0.2126, 0.7152, 0.0722]], linear(hex))[0]

export function contrast(a, b) {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x)
  return (high + 0.05) / (low + 0.05)
}

const eyes = {
  typical: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}

function oklab(rgb) {
  const lms = times([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]], rgb)
  return times([[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]], lms.map((x) => Math.cbrt(Math.max(x, 0))))
}
const distance = (a, b, eye) => {
  const [x, y] = [a, b].map((hex) => oklab(times(eyes[eye], linear(hex))))
  return Math.hypot(...x.map((v, i) => v - y[i]))
}

const light = variables(':root')
const themes = { light, dark: { ...light, ...variables(":root[data-theme='dark']") } }

for (const [theme, v] of Object.entries(themes)) {
  test(`text can be read (${theme})`, () => {
    const pairs = [
      ['ink', 'bg'], ['ink', 'card'], ['ink', 'tint'], ['muted', 'bg'], ['muted', 'card'], ['muted', 'tint'], ['accent', 'bg'], ['accent', 'card'], ['accent', 'tint'],
      ['accent-ink', 'accent'], ['warn-ink', 'warn-bg'], ['warn-ink', 'card'], ['bad-ink', 'bad-bg'], ['bad-ink', 'card'],
      ...['time', 'node', 'node-2', 'sequence', 'rollback', 'key'].map((f) => ['field-ink', `field-${f}`]),
    ]
    for (const [text, ground] of pairs) assert.ok(contrast(v[text], v[ground]) >= 4.5, `${text} on ${ground}: ${contrast(v[text], v[ground]).toFixed(2)}`)
  })

  test(`lines and controls stand out (${theme})`, () => {
    for (const [a, b] of [['line-1', 'card'], ['line-2', 'card'], ['line-3', 'card'], ['control', 'card'], ['accent', 'card'], ['good', 'card'], ['cell-mark', 'cell-own'], ['cell-mark', 'cell-vetoed']]) {
      assert.ok(contrast(v[a], v[b]) >= 3, `${a} on ${b}: ${contrast(v[a], v[b]).toFixed(2)}`)
    }
  })

  test(`what means different things looks different to everybody (${theme})`, () => {
    const sets = [
      [['held', 'late', 'own', 'vetoed', 'never', 'ahead'].map((k) => `cell-${k}`), 0.1],
      [['held', 'late', 'own', 'vetoed', 'free', 'reserved'].map((k) => `cell-${k}`), 0.1],
      [['line-1', 'line-2', 'line-3'], 0.1],
      [['field-time', 'field-node', 'field-sequence'], 0.05], // they are named beside, and stand apart
      [['field-node', 'field-node-2'], 0.05],
    ]
    for (const eye of Object.keys(eyes)) {
      for (const [names, least] of sets) {
        for (const a of names) {
          for (const b of names) {
            if (a < b) assert.ok(distance(v[a], v[b], eye) >= least, `${a} and ${b} with ${eye}: ${distance(v[a], v[b], eye).toFixed(3)}`)
          }
        }
      }
    }
  })
}
