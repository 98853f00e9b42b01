// Writes the document of GET /api/v1/openapi.json to a temporary file and lints it.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openapiDocument } from '../src/api/openapi.ts'
import { endpoints } from '../src/resources/index.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'fulcrum-openapi-'))
try {
  const file = join(folder, 'openapi.json')
  writeFileSync(file, JSON.stringify(openapiDocument(endpoints, version), null, 2))
  const config = join(root, '.redocly.yaml')
  const { status } = spawnSync('redocly', ['lint', file, `--config=${config}`, '--format=stylish'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  process.exitCode = status ?? 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
