// Writes docs/endpoints.md from the endpoint table (`npm run docs`); a test keeps the two equal.
import { writeFileSync } from 'node:fs'
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
