// Plays clocks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { real } from "../dist/esm/real.js";
import { Watch } from "../dist/esm/watch.js";

test("notices standing still by either clock", (t) => {
  let wall = 1e12, steady = 0, beat, stood = 0;
  t.mock.method(real, "wall", () => wall);
  t.mock.method(real, "steady", () => steady);
  t.mock.method(real, "every", (run) => beat = run);
  const watch = new Watch(() => stood++);
  watch.look();
  wall += 5000;
  watch.begin(1000);
  const pass = (ms, backward, look) => {
    const before = stood;
    wall += backward ? -ms : ms;
    steady += ms;
    look();
    return stood - before;
  };
  const look = () => watch.look(), beats = () => beat();
  assert.deepEqual([pass(999, false, look), pass(1000, false, look), pass(1, false, look)], [0, 1, 0]);
  beat();
  assert.deepEqual([pass(999, false, beats), pass(1000, false, beats), pass(1, false, beats)], [0, 1, 0]);
  assert.deepEqual([pass(500, true, look), pass(400, true, beats)], [0, 0]);
  assert.deepEqual([pass(1000, true, beats), pass(1, true, beats)], [1, 0]); // the wall clock was set back
  steady += 1;
  wall += 1000; // the machine slept, and its steady clock with it
  assert.equal(pass(0, false, beats), 1);
});
