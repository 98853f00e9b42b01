import t, { type Test } from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

const ADDRESS = { value: 'proxy.example.test', port: 3128 }
const EMPTY = { enable: false, address: { value: null, port: null }, username: '', password: '', bypass: [] }
const SECRET = 'a-"secret" %41'

async function fixture(test: Test) {
  const { call, node, machine } = await borrow()
  const path = `/${node}/system/proxy`
  const put = (body: object) => call('PUT', path, { body })
  const stored = async (body: object) => {
    const answer = await put(body)
    test.equal(answer.status, 200, answer.text)
    return (await call('GET', path)).json.data
  }
  const read = async () => (await call('GET', path)).json.data
  /** Returns the decoded credentials that would reach apt. */
  const used = async () => {
    machine.host.takeJournal()
    test.equal((await call('PUT', '/services/apply')).status, 200)
    const [url] = machine.host.journal.flatMap((entry) =>
      entry.verb === 'replaceFile' ? (/^http_proxy=(.*)$/m.exec(entry.content)?.slice(1) ?? []) : [],
    )
    return url === undefined ? undefined : decodeURIComponent(new URL(url).password)
  }
  return { call, put, read, stored, used }
}

t.test('when unset: no proxy', async (test) => {
  const { read } = await fixture(test)
  test.same(await read(), EMPTY)
})

t.test('enable is required; the answer has no data', async (test) => {
  const { put } = await fixture(test)
  test.match((await put({})).json, { code: 'INVALID_BODY', errors: [{ field: 'enable', code: 'REQUIRED' }] })
  test.same((await put({ enable: false })).json, { status: 'success', message: 'Proxy settings stored' })
})

t.test('rule 1: an omitted address keeps the stored one, null clears it', async (test) => {
  const { stored } = await fixture(test)
  test.match(await stored({ enable: true, address: ADDRESS }), { enable: true, address: ADDRESS })
  test.match(await stored({ enable: true }), { enable: true, address: ADDRESS })
  test.match(await stored({ enable: false, address: null }), { address: { value: null, port: null } })
  await stored({ enable: false, address: { value: '2001:db8::8', port: 1 } })
  test.match(await stored({ enable: false, address: { value: null, port: null } }), EMPTY, 'null is read, and clears')
})

t.test('rule 1: an enabled proxy needs an address, sent or stored', async (test) => {
  const { put, stored, read } = await fixture(test)
  for (const body of [{}, { address: null }, { address: { value: null, port: null } }]) {
    const answer = await put({ enable: true, ...body })
    test.equal(answer.status, 422)
    test.match(answer.json, { code: 'ADDRESS_REQUIRED', errors: [{ field: 'address', code: 'ADDRESS_REQUIRED' }] })
  }
  await stored({ enable: false, address: ADDRESS })
  test.equal((await put({ enable: true, address: null })).json.code, 'ADDRESS_REQUIRED', 'cleared by the same request')
  test.same(await read(), { ...EMPTY, address: ADDRESS }, 'and nothing of it was stored')
  await stored({ enable: true })
})

t.test('rule 1: the value is an IP address or a host name, and both parts are needed', async (test) => {
  const { put, stored } = await fixture(test)
  for (const value of ['192.0.2.8', '2001:db8::8', 'proxy', 'proxy.example.test'])
    test.match(await stored({ enable: true, address: { value, port: 65_535 } }), { address: { value, port: 65_535 } })
  for (const [address, field] of [
    [{ value: '', port: 1 }, 'address.value'],
    [{ value: 'http://proxy', port: 1 }, 'address.value'],
    [{ value: 'proxy:3128', port: 1 }, 'address.value'],
    [{ value: '192.0.2.999', port: 1 }, 'address.value'],
    [{ value: 'a b";', port: 1 }, 'address.value'],
    [{ value: 'fe80::1%eth0', port: 1 }, 'address.value'],
    [{ value: null, port: 1 }, 'address.value'],
    [{ value: 'proxy', port: null }, 'address.port'],
    [{ port: 1 }, 'address.value'],
    [{ value: 'proxy' }, 'address.port'],
    [{ value: null }, 'address.value'],
    [{ value: 'proxy', port: 0 }, 'address.port'],
    [{ value: 'proxy', port: 65_536 }, 'address.port'],
    [{ value: 'proxy', port: '80' }, 'address.port'],
    ['proxy', 'address'],
  ] as const) {
    const answer = await put({ enable: true, address })
    test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field }] }, JSON.stringify(address))
    test.equal(new Set(answer.json.errors.map((one: { field: string }) => one.field.split('.')[0])).size, 1)
  }
})

t.test('rule 2: an omitted user name keeps the stored one, empty or null clears it', async (test) => {
  const { stored } = await fixture(test)
  for (const clearing of ['', null]) {
    test.match(await stored({ enable: false, username: 'somebody' }), { username: 'somebody' })
    test.match(await stored({ enable: false }), { username: 'somebody' })
    test.match(await stored({ enable: false, username: clearing }), { username: '' })
  }
})

t.test('rule 3: an omitted password or ** keeps the stored one, empty or null clears it', async (test) => {
  const { stored, used } = await fixture(test)
  for (const clearing of ['', null]) {
    test.match(await stored({ enable: true, address: ADDRESS, password: SECRET }), { password: '**' })
    test.equal(await used(), SECRET)
    test.match(await stored({ enable: true, username: 'a' }), { password: '**' })
    test.equal(await used(), SECRET, 'omitted')
    test.match(await stored({ enable: true, username: 'b', password: '**' }), { password: '**' })
    test.equal(await used(), SECRET, 'masked')
    test.match(await stored({ enable: true, password: clearing }), { password: '' })
    test.equal(await used(), '')
  }
})

t.test('rule 3: ** is refused when none is stored', async (test) => {
  const { put, stored } = await fixture(test)
  const refused = {
    status: 422,
    json: { code: 'PASSWORD_NOT_STORED', errors: [{ field: 'password', code: 'PASSWORD_NOT_STORED' }] },
  }
  test.match(await put({ enable: false, password: '**' }), refused)
  await stored({ enable: false, password: SECRET })
  await stored({ enable: false, password: '' })
  test.match(await put({ enable: false, password: '**' }), refused, 'nor when it was cleared')
})

t.test('rule 4: an omitted bypass list stays, an empty one or null clears it, a sent one replaces it', async (test) => {
  const { stored } = await fixture(test)
  const bypass = [
    'localhost',
    'example.test',
    '.example.test',
    '192.0.2.1',
    '2001:db8::1',
    '10.0.0.0/8',
    '2001:db8::/32',
  ]
  for (const clearing of [[], null]) {
    test.same((await stored({ enable: false, bypass })).bypass, bypass)
    test.same((await stored({ enable: false })).bypass, bypass)
    test.same((await stored({ enable: false, bypass: ['a.test'] })).bypass, ['a.test'])
    test.same((await stored({ enable: false, bypass: clearing })).bypass, [])
  }
})

t.test('rule 4: a port or a wildcard is rejected, and anything that is no host or network', async (test) => {
  const { put, read } = await fixture(test)
  const wrong = [
    'example.test:80',
    '192.0.2.1:80',
    '[::1]:80',
    '*',
    '*.example.test',
    'http://a.test',
    '10.0.0.0/33',
    '',
    'a b',
  ]
  for (const entry of wrong) {
    const answer = await put({ enable: false, bypass: ['good.test', entry] })
    test.equal(answer.status, 422)
    const errors = [{ field: 'bypass.1', code: 'INVALID_BYPASS_ENTRY' }]
    test.match(answer.json, { code: 'INVALID_BYPASS_ENTRY', errors }, entry)
  }
  test.same(await read(), EMPTY)
})

t.test('every problem is reported at once, each with its code', async (test) => {
  const { put } = await fixture(test)
  const answer = await put({ enable: true, password: '**', bypass: ['a:1', 'ok.test', '*'] })
  test.equal(answer.json.code, 'ADDRESS_REQUIRED')
  test.same(
    answer.json.errors.map(({ field, code }: { field: string; code: string }) => [field, code]),
    [
      ['address', 'ADDRESS_REQUIRED'],
      ['password', 'PASSWORD_NOT_STORED'],
      ['bypass.0', 'INVALID_BYPASS_ENTRY'],
      ['bypass.2', 'INVALID_BYPASS_ENTRY'],
    ],
  )
})

t.test('control characters are refused', async (test) => {
  const { put } = await fixture(test)
  for (const field of ['username', 'password']) {
    test.match((await put({ enable: false, [field]: 'a\nb' })).json, { code: 'INVALID_BODY', errors: [{ field }] })
  }
})

t.test('the password is in no answer: not read, pending, previewed, refused or applied', async (test) => {
  const { call, put, read } = await fixture(test)
  const texts = [(await put({ enable: true, address: ADDRESS, username: 'u', password: SECRET })).text]
  texts.push(JSON.stringify(await read()), (await call('GET', '/services/pending?render=true')).text)
  texts.push(
    (await put({ enable: true, password: `${SECRET}\n` })).text,
    (await put({ enable: true, password: SECRET, bypass: ['*'] })).text,
  )
  texts.push((await call('PUT', '/services/apply', { body: { comment: 'x' } })).text)
  await put({ enable: true, password: 'another-secret' })
  texts.push((await call('GET', '/services/pending?render=true')).text)
  for (const text of texts) test.notMatch(text, /secret|%22/, text.slice(0, 80))
  test.match(texts[2], /http:\/\/u:\*\*@proxy\.example\.test:3128\//, 'the preview masks it')
})

t.test('every problem at once: those of the schema do not hide those of the rules', async (test) => {
  const { put } = await fixture(test)
  const answer = await put({ enable: 'yes', bypass: ['*.example.test'] })
  test.match(answer.json, {
    code: 'INVALID_BODY',
    errors: [{ field: 'enable' }, { field: 'bypass.0', code: 'INVALID_BYPASS_ENTRY' }],
  })
  test.match((await put({ enable: 'yes', bypass: 5 })).json, { errors: [{ field: 'enable' }, { field: 'bypass' }] })
})
