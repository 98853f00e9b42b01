import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cliFixture } from '../../../fixtures/cli.ts'

const fixture = cliFixture(t)

t.test('any request can be sent, with JSON, YAML, a file or the standard input', async (test) => {
  const { run, home } = await fixture(test)
  test.match(JSON.parse((await run('api /ping')).out), { message: 'pong' })
  const body = (name: string) => `{ name: ${name}, ip: 192.0.2.1, port: 80 }`
  const sent = await run(['api', 'post', '/api/v1/ipvsDirector/rips?return=record', '-b', body('one')])
  test.match(JSON.parse(sent.out), { data: { name: 'one', weight: 100 } })
  writeFileSync(join(home, 'two.yaml'), body('two'))
  test.equal((await run(['api', 'POST', '/ipvsDirector/rips', '-b', `@${join(home, 'two.yaml')}`])).exit, 0)
  test.equal((await run(['api', 'POST', '/ipvsDirector/rips', '-b', '-'], { input: body('three') })).exit, 0)
  const { data } = JSON.parse((await run('api /ipvsDirector/rips')).out)
  test.same(
    data.map(({ name }: { readonly name: string }) => name),
    ['one', 'two', 'three'],
  )
  const stale = await run(['api', 'PUT', `/ipvsDirector/rips/${data[0].id}`, '-b', '{"port":1}', '-H', 'If-Match: "0"'])
  test.match(stale, { exit: 1, err: /REVISION_MISMATCH/ })
})

t.test('a request that cannot be sent is reported', async (test) => {
  const { run, home } = await fixture(test)
  test.match(await run('api FETCH /ping'), { exit: 1, err: /FETCH is not a method/ })
  test.match(await run('api GET ping'), { exit: 1, err: /ping is not a path/ })
  test.match(await run(['api', 'POST', '/ping', '-b', '{a: [']), { exit: 1, err: /neither JSON nor YAML/ })
  test.match(await run(['api', 'POST', '/ping', '-b', '@/no/such']), { exit: 1, err: /there is no file/ })
  writeFileSync(join(home, 'latin'), Buffer.from('name: caf\u00e9', 'latin1'))
  const refused = /latin is not UTF-8 text/
  test.match(await run(['api', 'POST', '/ping', '-b', `@${join(home, 'latin')}`]), { exit: 1, err: refused })
  test.match(await run(['api', '/ping', '-H', 'nothing']), { exit: 1, err: /nothing is not a header/ })
  test.match(await run(['api', '/ping', '-H', 'x: ж']), {
    exit: 1,
    err: /^fulcrum: the request cannot be sent: [^\n]+\n$/,
  })
  test.match(await run('api /nowhere'), { exit: 1, err: /UNKNOWN_ENDPOINT/ })
  test.match(await run('api'), { exit: 1, err: /missing required argument/ })
})
