// Tells Node.js that the files below dist/cjs are CommonJS, in a package of modules.
import { writeFileSync } from "node:fs";

writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
