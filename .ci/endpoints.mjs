// Writes the documents that are generated from tables in the sources (`npm run docs`): docs/endpoints.md, and the
// metrics in docs/metrics.md. Tests keep them equal.
import { readFileSync, writeFileSync } from 'node:fs'
import { sampleName } from '../src/exposition/family.ts'
import { FAMILIES } from '../src/metrics/metrics.ts'
import { endpoints } from '../src/resources/index.ts'

const row = (endpoint) =>
  `| ${endpoint.method} | \`${endpoint.path}\` | ${endpoint.effect} | ${endpoint.access} | ${endpoint.summary} |`
const table = (rows) => ['| Method | Path | Effect | Access | Summary |', '|---|---|---|---|---|', ...rows.map(row)]

const text = [
  '# Endpoints',
  '',
  'Generated from the endpoint table by `npm run docs`. Paths are relative to `/api/v1`. Effect: `read` touches nothing, `stage`',
  'writes the candidate configuration, `act` acts at once, `apply` makes the candidate running.',
  '',
  '## Of the specification',
  '',
  ...table(endpoints.filter((endpoint) => !endpoint.extension)),
  '',
  '## Extensions',
  '',
  ...table(endpoints.filter((endpoint) => endpoint.extension)),
  '',
].join('\n')
writeFileSync(new URL('../docs/endpoints.md', import.meta.url), text)

const page = new URL('../docs/metrics.md', import.meta.url)
const metric = (family) =>
  `| \`${sampleName(family)}\` | ${family.type} | ${family.labels.join(', ')} | ${family.help} |`
const HEAD = '| metric | type | labels | what it is |\n|---|---|---|---|\n'
const [before] = readFileSync(page, 'utf8').split(HEAD)
writeFileSync(page, `${before}${HEAD}${FAMILIES.map(metric).join('\n')}\n`)
