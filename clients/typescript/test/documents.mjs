// Takes the programs out of the documents, so that they are compiled with the tests, which run them: each block of
// TypeScript behind a comment with the name of its file, <!-- test: file shop.mts -->.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
mkdirSync(`${here}documents`, { recursive: true });
for (const document of ["../README.md", "../../../README.md", "../../../docs/events.md"]) {
  const text = readFileSync(here + document, "utf8");
  for (const [, name, program] of text.matchAll(/^<!-- test: file (\w+\.m?ts) -->\n```ts\n(.*?)^```$/gms))
    writeFileSync(`${here}documents/${name}`, program);
}
