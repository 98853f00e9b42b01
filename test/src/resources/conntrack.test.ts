import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

async function fixture() {
  const { call, node, machine } = await borrow()
  const path = `/${node}/system/conntrack`
  const put = (body: object) => call('PUT', path, { body })
  const read = async () => (await call('GET', path)).json.data
  return { call, machine, put, read, path }
}
const DEFAULTS = { tcpTimeout: '900', tcpFinTimeout: '120', udpTimeout: '300' }

t.test('when unset: the size of the machine and the defaults', async (test) => {
  const { read, machine } = await fixture()
  Object.assign(machine.facts, { conntrackSize: async () => 65_536 })
  test.same(await read(), { size: 65_536, ...DEFAULTS })
  Object.assign(machine.facts, { conntrackSize: async () => undefined })
  test.same(await read(), { size: 262_144, ...DEFAULTS }, 'a kernel without tracking')
})

t.test('rule 1: a timeout is whole seconds or a number with exactly one unit', async (test) => {
  const { put, read } = await fixture()
  for (const tcpTimeout of ['900', '1', '30s', '15m', '2h', '31d', '4w', '2678400']) {
    const answer = await put({ size: 4096, tcpTimeout })
    test.equal(answer.status, 200, tcpTimeout)
    test.equal((await read()).tcpTimeout, tcpTimeout)
  }
  for (const tcpTimeout of [1.5, true, {}]) {
    const answer = await put({ size: 4096, tcpTimeout })
    test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'tcpTimeout' }] }, JSON.stringify(tcpTimeout))
  }
})

t.test('a timeout may be an integer, which is seconds and is returned as text; null is the default', async (test) => {
  const { put, read } = await fixture()
  test.equal((await put({ size: 4096, tcpTimeout: 1200, udpTimeout: 2_678_400 })).status, 200)
  test.match(await read(), { tcpTimeout: '1200', udpTimeout: '2678400' })
  test.equal((await put({ size: 4096, tcpTimeout: null })).status, 200)
  test.match(await read(), { tcpTimeout: '900', udpTimeout: '2678400' })
  for (const tcpTimeout of [0, -1, 2_678_401]) {
    const refused = await put({ size: 4096, tcpTimeout })
    test.match(refused.json, { code: 'OUT_OF_RANGE', errors: [{ field: 'tcpTimeout' }] }, String(tcpTimeout))
  }
})

t.test('rule 2: sub-second and combined units are refused', async (test) => {
  const { put, read } = await fixture()
  for (const value of ['500ms', '10us', '1h30m', '1m30s', '1.5h', '-1', '', 'soon', '5M', ' 5', '5 s']) {
    const answer = await put({ size: 4096, udpTimeout: value })
    test.equal(answer.status, 422)
    test.match(answer.json, { code: 'INVALID_DURATION', errors: [{ field: 'udpTimeout', code: 'INVALID_DURATION' }] })
  }
  test.same(await read(), { size: 262_144, ...DEFAULTS }, 'and nothing is stored')
})

t.test('rule 3: a value is stored and returned as sent, data has the stored values', async (test) => {
  const { put, read } = await fixture()
  const sent = { size: 100_000, tcpTimeout: '15m', tcpFinTimeout: '0120', udpTimeout: '1w' }
  const answer = await put(sent)
  test.match(answer.json, { status: 'success', message: 'Connection tracking settings stored' })
  test.same(answer.json.data, sent)
  test.same(await read(), sent)
})

t.test('rule 4: omitted timeouts keep their values, at first the defaults; size is required', async (test) => {
  const { put, read } = await fixture()
  test.same((await put({ size: 5000 })).json.data, { size: 5000, ...DEFAULTS })
  await put({ size: 5000, tcpFinTimeout: '2m' })
  test.same((await put({ size: 6000, udpTimeout: '1h' })).json.data, {
    size: 6000,
    ...DEFAULTS,
    tcpFinTimeout: '2m',
    udpTimeout: '1h',
  })
  test.equal((await read()).size, 6000)
  const answer = await put({ tcpTimeout: '15m' })
  test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'size', code: 'REQUIRED' }] })
})

t.test('rule 4: the range of each timeout is 1s to 31d', async (test) => {
  const { put } = await fixture()
  for (const field of ['tcpTimeout', 'tcpFinTimeout', 'udpTimeout']) {
    for (const value of ['0', '0s', '0w', '2678401', '32d', '5w', '745h', '999999999999999']) {
      const answer = await put({ size: 4096, [field]: value })
      test.equal(answer.status, 422)
      test.match(answer.json, { code: 'OUT_OF_RANGE', errors: [{ field, code: 'OUT_OF_RANGE' }] }, value)
    }
    for (const value of ['1', '1s', '31d', '744h', '2678400'])
      test.equal((await put({ size: 4096, [field]: value })).status, 200, value)
  }
})

t.test('every problem is reported at once, each with its code', async (test) => {
  const { put } = await fixture()
  const answer = await put({ size: 4096, tcpTimeout: '1h30m', tcpFinTimeout: '0', udpTimeout: '5ms' })
  test.equal(answer.json.code, 'INVALID_DURATION')
  test.same(
    answer.json.errors.map(({ field, code }: { field: string; code: string }) => [field, code]),
    [
      ['tcpTimeout', 'INVALID_DURATION'],
      ['tcpFinTimeout', 'OUT_OF_RANGE'],
      ['udpTimeout', 'INVALID_DURATION'],
    ],
  )
})

t.test('a size that the kernel does not accept is refused', async (test) => {
  const { put } = await fixture()
  for (const size of [0, -1, 1023, 2_147_483_648, 1.5, '4096', null]) {
    test.match((await put({ size })).json, { code: 'INVALID_BODY', errors: [{ field: 'size' }] }, String(size))
  }
})

t.test('rule 5: the size is a change of this node, the timeouts are one for all', async (test) => {
  const { call, put, machine } = await fixture()
  await put({ size: 4096 })
  const { changes } = (await call('GET', '/services/pending')).json.data
  test.match(changes, [
    { resource: 'conntrackLimits', op: 'create', effect: 'runtime', services: ['conntrack'] },
    { resource: 'conntrackTimeouts', resourceId: 'cluster', op: 'create', effect: 'runtime' },
  ])
  machine.host.takeJournal()
  test.equal((await call('PUT', '/services/apply')).status, 200)
  const settings = machine.host.journal.flatMap((entry) =>
    entry.verb === 'setting' ? [`${entry.key} ${entry.value}`] : [],
  )
  test.ok(settings.includes('sysctl net.netfilter.nf_conntrack_max 4096'), settings.join('\n'))
  await put({ size: 4096, tcpTimeout: '15m' })
  test.match((await call('GET', '/services/pending')).json.data.changes, [
    { resource: 'conntrackTimeouts', op: 'update' },
  ])
})

t.test('every problem at once: those of the schema do not hide those of the rules', async (test) => {
  const { put } = await fixture()
  const answer = await put({ size: 4096, tcpTimeout: '1h30m', tcpFinTimeout: true, udpTimeout: '32d', x: 1 })
  test.equal(answer.json.code, 'INVALID_BODY')
  const codes = Object.fromEntries(answer.json.errors.map(({ field, code }: Record<string, string>) => [field, code]))
  test.same(codes, {
    x: 'UNKNOWN',
    tcpFinTimeout: 'TYPE',
    tcpTimeout: 'INVALID_DURATION',
    udpTimeout: 'OUT_OF_RANGE',
  })
})
