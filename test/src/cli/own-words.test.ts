import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { inOwnWords, OWN_COMMANDS, OWN_WORDS } from '../../../src/cli/own-words.ts'

const ROOT = new URL('../../../', import.meta.url).pathname

t.test('every replaced phrase still occurs, and is replaced here', (test) => {
  const others = globSync('src/**/*.ts', { cwd: ROOT }).filter((path) => !/^src\/(?:cli|ui)\//.test(path))
  const said = others
    .map((path) => readFileSync(`${ROOT}${path}`, 'utf8'))
    .join('')
    .replaceAll(/(\/nodes\/)\$\{[\w.]+\}/g, '$1ID')
  for (const [theirs, own] of [...OWN_WORDS, ...OWN_COMMANDS]) {
    test.match(said, theirs)
    test.equal(inOwnWords(`no: ${theirs}, if this is intended`), `no: ${own}, if this is intended`)
  }
  test.end()
})

t.test('an operation without its own command is sent as it is', (test) => {
  test.equal(
    inOwnWords('see GET /localUsers/me. PUT /x/{id}?a=1: POST /backup/a.json, GET /cluster/log'),
    'see fulcrum api GET /localUsers/me. fulcrum api PUT /x/{id}?a=1: fulcrum api POST /backup/a.json, fulcrum api GET /cluster/log',
  )
  test.equal(inOwnWords('DELETE /cluster/nodes/k3-_Z9 makes it one'), 'fulcrum cluster leave makes it one')
  const rights =
    'None of your roles grants GET /services/apply; restart needs the right to PUT /services/{service}/restart'
  test.equal(inOwnWords(rights), rights, 'rights have these names')
  test.equal(inOwnWords('GET / is no operation, nor is /etc/PUT'), 'GET / is no operation, nor is /etc/PUT')
  test.end()
})
