import fc from 'fast-check'
import t from 'tap'
import { ADMINISTRATOR } from '../../../src/api/access.ts'
import { caller, type Received } from '../../fixtures/appliance.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'
import { ownAppliance } from '../../fixtures/shared-appliance.ts'

const WHERE = { names: ['shop-*'] }
const RIPS = '/ipvsDirector/rips'
const BACKENDS = '/layer7proxy/backends'
const DENIED = { status: 403, json: { code: 'PERMISSION_DENIED' } }
const MISSING = { status: 404, json: { code: 'NOT_FOUND' } }

const L4_FRONTEND = { ip: '192.0.2.50', protocol: 'tcp', forwarding: 'masq' }
const real = (name: string, more: object = {}) => ({ name, ip: '192.0.2.80', port: 80, ...more })
const records = (path: string, where: object, ...extra: readonly object[]) => [
  { path, methods: ['GET', 'POST'], where },
  { path: `${path}/{id}`, methods: ['GET', 'PUT', 'DELETE'], where },
  ...extra,
]
/** Rights to act on changes, to which no area applies. */
const WHOLE = [
  { path: '/services/apply', methods: ['PUT'] },
  { path: '/services/pending', methods: ['GET', 'DELETE'] },
  { path: '/services/pending/{changeId}', methods: ['DELETE'] },
  { path: '/services/apply/confirm', methods: ['PUT'] },
  { path: '/transactions', methods: ['GET', 'POST'] },
  { path: '/transactions/{id}/commit', methods: ['PUT'] },
  { path: '/transactions/{id}/rollback', methods: ['PUT'] },
  { path: '/revisions/{n}/revert', methods: ['PUT'] },
  { path: '/config/plan', methods: ['POST'] },
  { path: '/config/plans/{id}/apply', methods: ['PUT'] },
]
const AREA = [...records(RIPS, WHERE), ...records(BACKENDS, WHERE), ...WHOLE]

const done = (answer: Received) => {
  if (answer.status >= 300) throw new Error(answer.text)
  return answer.json.data
}

/** One appliance with one user without a role; created once, because passwords are deliberately expensive. */
const site = (async () => {
  const made = await ownAppliance(t)
  const { call, appliance, login } = made
  const [email, password] = ['ann@localhost', 'a long password']
  const account = { email, firstname: 'A', lastname: 'N', password, disabled: false }
  const ann = String(done(await call('POST', '/localUsers/users', { body: account })).id)
  done(await call('PUT', '/services/apply'))
  const { revision } = done(await call('GET', '/services/pending'))
  return { ...made, ann, revision, as: caller(appliance, await login(email, password)) }
})()

let roles = 0

/** Her only role grants `entries`; two teams have two real servers and two backends. */
async function fixture(entries: readonly object[] = AREA) {
  const made = await site
  const { call, ann } = made
  for (const { id } of done(await call('GET', '/transactions'))) done(await call('PUT', `/transactions/${id}/rollback`))
  done(await call('DELETE', '/services/pending'))
  done(await call('PUT', `/revisions/${made.revision}/restore`))
  const rip = async (name: string) => String(done(await call('POST', RIPS, { body: real(name) })).id)
  const [shop, bank] = [await rip('shop-1'), await rip('bank-1')]
  const backend = async (name: string, ripId: string) =>
    String(done(await call('POST', BACKENDS, { body: { name, mode: 'http', reals: [{ ripId }] } })).id)
  const [shopBackend, bankBackend] = [await backend('shop-be', shop), await backend('bank-be', bank)]
  const role = async (endpoints: readonly object[]) => {
    const body = { name: `r${roles++}`, users: [ann], groups: [], endpoints }
    return String(done(await call('POST', '/rbac/roles', { body })).id)
  }
  const roleId = await role(entries)
  done(await call('PUT', '/services/apply'))
  const names = async () =>
    done(await call('GET', RIPS))
      .map(({ name }: { name: string }) => name)
      .toSorted()
  return { ...made, shop, bank, shopBackend, bankBackend, role, roleId, names }
}

t.test('lists and reads show records inside; the others do not exist for her', async (test) => {
  const { as, shop, bank } = await fixture()
  const listed = await as('GET', RIPS)
  test.match(listed.json.data, [{ name: 'shop-1' }])
  test.equal(listed.json.data.length, 1)
  test.match((await as('GET', `${RIPS}?name=bank-1`)).json.data, [])
  test.equal((await as('GET', `${RIPS}/${shop}`)).status, 200)
  test.match(await as('GET', `${RIPS}/${bank}`), MISSING)
})

t.test('every kind with owners is listed, read and changed inside only', async (test) => {
  const [cert, key] = [certificateMaker(test).pair({ name: 'www.test' }), { names: ['in*', '198.51.100.*'] }]
  const kinds = (name: string, at: number, made: Readonly<Record<string, string>>) =>
    [
      [RIPS, real(name)],
      ['/healthchecks', { name, description: '', script: '#!/bin/sh\nexit 0\n', services: ['layer-7'] }],
      [BACKENDS, { name, mode: 'http' }],
      ['/layer7proxy/frontends', { name, mode: 'http', ip: '127.0.0.1', ports: `${8100 + at}` }],
      ['/ipvsDirector/backends', { name }],
      [
        '/ipvsDirector/frontends',
        { ...L4_FRONTEND, name, ports: `${9100 + at}`, backendId: made['/ipvsDirector/backends'] },
      ],
      ['/certificates/certs', { name, cert: cert.cert, privateKey: cert.key }],
      ['/ciphers/lists', { name, ciphers: ['TLS_AES_128_GCM_SHA256'] }],
      ['/ipgroups', { name, networkIp: `198.51.${100 + at}.0`, networkMask: 24 }],
      ['/fips', { groupId: made['/ipgroups'], ip: `198.51.${100 + at}.20` }],
    ] as const
  const paths = kinds('', 0, {}).map(([path]) => path)
  const { as, call } = await fixture(paths.flatMap((path) => records(path, key)))
  const made: Record<string, string>[] = [{}, {}]
  for (const [at, name] of ['in', 'out'].entries())
    for (let kind = 0; kind < paths.length; kind++) {
      const ids = made[at] ?? {}
      const [path, body] = kinds(name, at, ids)[kind] ?? ['', {}]
      const { data } = (await call('POST', path, { body })).json
      ids[path] = String(data.id ?? data.cipherListID)
    }
  for (const path of paths) {
    const [inside, outside] = made.map((ids) => ids[path] ?? '')
    const listed = await as('GET', path)
    test.ok(listed.text.includes(String(inside)), `${path} lists the record inside`)
    test.notOk(listed.text.includes(String(outside)), `${path} lists nothing else`)
    test.equal((await as('GET', `${path}/${inside}`)).status, 200, path)
    test.match(await as('GET', `${path}/${outside}`), MISSING, path)
    test.match(await as('DELETE', `${path}/${outside}`), MISSING, path)
    const [, body] = kinds('in2', 1, made[0] ?? {}).find(([one]) => one === path) ?? []
    const { cert: _cert, privateKey: _key, ...sent } = Object(body)
    test.match(await as('PUT', `${path}/${outside}`, { body: sent }), MISSING, path)
  }
})

t.test('a new record lies inside', async (test) => {
  const { as, names } = await fixture()
  test.equal((await as('POST', RIPS, { body: real('shop-2') })).status, 201)
  test.match(await as('POST', RIPS, { body: real('bank-2') }), DENIED)
  test.same(await names(), ['bank-1', 'shop-1', 'shop-2'])
})

t.test('a changed record lies inside before and after, so no rename crosses the border of an area', async (test) => {
  const { as, shop, bank, names } = await fixture()
  test.equal((await as('PUT', `${RIPS}/${shop}`, { body: { port: 81 } })).status, 200)
  test.match(await as('PUT', `${RIPS}/${shop}`, { body: { port: 81, name: 'bank-9' } }), DENIED)
  test.match(await as('PUT', `${RIPS}/${bank}`, { body: { port: 81, name: 'shop-9' } }), MISSING)
  test.match(await as('PUT', `${RIPS}/${bank}`, { body: { port: 81 } }), MISSING)
  test.same(await names(), ['bank-1', 'shop-1'])
})

t.test('a user who may read a record but not change it is told so', async (test) => {
  const all = [
    { path: RIPS, methods: ['GET'] },
    { path: `${RIPS}/{id}`, methods: ['GET'] },
  ]
  const { as, bank } = await fixture([...all, { path: `${RIPS}/{id}`, methods: ['PUT', 'DELETE'], where: WHERE }])
  test.equal((await as('GET', `${RIPS}/${bank}`)).status, 200)
  test.match(await as('PUT', `${RIPS}/${bank}`, { body: { port: 81 } }), DENIED)
  test.match(await as('DELETE', `${RIPS}/${bank}`), DENIED)
})

t.test('a deleted record lies inside', async (test) => {
  const { as, bank, names, call, shopBackend, shop } = await fixture()
  test.match(await as('DELETE', `${RIPS}/${bank}`), MISSING)
  await call('DELETE', `${BACKENDS}/${shopBackend}`)
  test.equal((await as('DELETE', `${RIPS}/${shop}`)).status, 200)
  test.same(await names(), ['bank-1'])
})

t.test('moves of real servers are confined like changes, and so is the halt after a drain', async (test) => {
  const moves = ['drain', 'halt', 'online'].map((verb) => ({
    path: `${RIPS}/{id}/${verb}`,
    methods: ['PUT'],
    where: WHERE,
  }))
  const { as, shop, bank } = await fixture([...moves, ...WHOLE])
  for (const verb of ['halt', 'drain', 'online']) {
    test.equal((await as('PUT', `${RIPS}/${shop}/${verb}`)).status, 200)
    test.match(await as('PUT', `${RIPS}/${bank}/${verb}`), MISSING)
  }
  test.equal((await as('PUT', `${RIPS}/${shop}/drain?wait=1s&then=halt`)).status, 202)
  test.match(await as('PUT', `${RIPS}/${bank}/drain?wait=1s&then=halt`), MISSING)
})

t.test('only readable records can be attached, by id or by name', async (test) => {
  const { as, shop, bank, shopBackend } = await fixture()
  const put = (ripId: unknown) =>
    as('PUT', `${BACKENDS}/${shopBackend}`, { body: { reals: [{ ripId: shop }, { ripId }] } })
  test.match(await put(bank), DENIED)
  test.match(await put({ name: 'bank-1' }), DENIED)
  const other = (await as('POST', RIPS, { body: real('shop-2', { port: 82 }) })).json.data.id
  test.equal((await put(other)).status, 200)
  test.match(await as('POST', BACKENDS, { body: { name: 'shop-x', mode: 'http', reals: [{ ripId: bank }] } }), DENIED)
})

t.test('references attached by others stay, and block no other change', async (test) => {
  const { as, call, shop, bank, shopBackend } = await fixture()
  const reals = [{ ripId: shop }, { ripId: bank }]
  done(await call('PUT', `${BACKENDS}/${shopBackend}`, { body: { reals } }))
  done(await call('PUT', '/services/apply'))
  test.equal((await as('PUT', `${BACKENDS}/${shopBackend}`, { body: { balance: 'leastconn' } })).status, 200)
})

t.test('owners confine too: no record is given away, or taken', async (test) => {
  const { as, shop, call } = await fixture(records(RIPS, { owner: 'shop' }))
  test.match(await as('POST', RIPS, { body: real('x') }), DENIED)
  test.equal((await as('POST', RIPS, { body: real('x', { owner: 'shop' }) })).status, 201)
  test.match(await as('PUT', `${RIPS}/${shop}`, { body: { port: 1, owner: 'shop' } }), MISSING)
  done(await call('PUT', `${RIPS}/${shop}`, { body: { port: 1, owner: 'shop' } }))
  test.equal((await as('PUT', `${RIPS}/${shop}`, { body: { port: 2 } })).status, 200)
  for (const owner of ['bank', '', null])
    test.match(await as('PUT', `${RIPS}/${shop}`, { body: { port: 2, owner } }), DENIED)
})

t.test('ids confine to these records, and to no new one', async (test) => {
  const { as, role, shop, bank, call } = await fixture([])
  await role(records(RIPS, { ids: [shop] }))
  await call('PUT', '/services/apply')
  test.equal((await as('PUT', `${RIPS}/${shop}`, { body: { port: 2, name: 'anything' } })).status, 200)
  test.match(await as('PUT', `${RIPS}/${bank}`, { body: { port: 2 } }), MISSING)
  test.match(await as('POST', RIPS, { body: real('new') }), DENIED)
})

t.test('return=record returns a readable record, and otherwise creates none', async (test) => {
  const { as, names } = await fixture()
  test.match(await as('POST', `${RIPS}?return=record`, { body: real('shop-2') }), {
    status: 201,
    json: { data: { name: 'shop-2' } },
  })
  test.match(await as('POST', `${RIPS}?return=record`, { body: real('bank-2') }), DENIED)
  const { as: other } = await fixture([
    { path: RIPS, methods: ['POST'] },
    { path: `${RIPS}/{id}`, methods: ['GET'], where: WHERE },
  ])
  test.match(await other('POST', `${RIPS}?return=record`, { body: real('bank-3') }), DENIED)
  test.notOk((await names()).includes('bank-3'))
})

t.test('a record read inside may be sent back', async (test) => {
  const { as, shop } = await fixture()
  const { data } = (await as('GET', `${RIPS}/${shop}`)).json
  test.equal((await as('PUT', `${RIPS}/${shop}`, { body: data })).status, 200)
})

t.test('an apply takes the changes inside, and no others', async (test) => {
  const { as, call, bank, shop } = await fixture()
  done(await call('PUT', `${RIPS}/${bank}`, { body: { port: 81 } }))
  done(await as('PUT', `${RIPS}/${shop}`, { body: { port: 82 } }))
  test.match(await as('PUT', '/services/apply'), DENIED)
  test.equal((await as('PUT', '/services/apply', { body: { mine: true } })).status, 200)
  test.equal((await call('GET', '/services/pending')).json.data.count, 1)
})

t.test('a record that another user renamed into an area is judged by running when it is applied', async (test) => {
  const { as, call, bank } = await fixture()
  done(await call('PUT', `${RIPS}/${bank}`, { body: { port: 80, name: 'shop-9' } }))
  done(await as('PUT', `${RIPS}/${bank}`, { body: { port: 99 } }))
  test.match(await as('PUT', '/services/apply'), DENIED)
})

t.test('pending changes outside are not discarded', async (test) => {
  const { as, call, bank, shop } = await fixture()
  done(await call('PUT', `${RIPS}/${bank}`, { body: { port: 81 } }))
  done(await call('PUT', `${RIPS}/${shop}`, { body: { port: 81 } }))
  const { changes } = done(await call('GET', '/services/pending'))
  const idOf = (id: string) => changes.find(({ resourceId }: { resourceId: string }) => resourceId === id).id
  test.match(await as('DELETE', '/services/pending'), DENIED)
  test.match(await as('DELETE', `/services/pending/${idOf(bank)}`), DENIED)
  test.equal((await as('DELETE', `/services/pending/${idOf(shop)}`)).status, 200)
})

t.test('a transaction holds only edits inside, and is committed with the current rights', async (test) => {
  const { as, call, shop, bank, roleId } = await fixture()
  const { id } = done(await as('POST', '/transactions'))
  const inside = { headers: { 'x-transaction-id': String(id) } }
  test.match(await as('PUT', `${RIPS}/${bank}`, { ...inside, body: { port: 81 } }), MISSING)
  test.match(await as('PUT', `${RIPS}/${shop}`, { ...inside, body: { port: 81, name: 'bank-7' } }), DENIED)
  done(await as('PUT', `${RIPS}/${shop}`, { ...inside, body: { port: 81 } }))
  done(
    await call('PUT', `/rbac/roles/${roleId}`, {
      body: { endpoints: [...records(RIPS, { names: ['other-*'] }), ...WHOLE] },
    }),
  )
  done(await call('PUT', '/services/apply'))
  test.match(await as('PUT', `/transactions/${id}/commit`), DENIED)
  done(await as('PUT', `/transactions/${id}/rollback`))
})

t.test('revisions are reverted by users who could make the reverse changes', async (test) => {
  const { as, call, bank, shop } = await fixture()
  const revised = async (id: string) => {
    done(await call('PUT', `${RIPS}/${id}`, { body: { port: 4711 } }))
    done(await call('PUT', '/services/apply'))
    return done(await call('GET', '/services/pending')).revision
  }
  test.match(await as('PUT', `/revisions/${await revised(bank)}/revert`), DENIED)
  test.equal((await as('PUT', `/revisions/${await revised(shop)}/revert`)).status, 200)
})

t.test('waiting applies are confirmed by users who could make their changes', async (test) => {
  const { as, call, bank } = await fixture()
  done(await call('PUT', `${RIPS}/${bank}`, { body: { port: 4712 } }))
  done(await call('PUT', '/services/apply', { body: { confirmWithin: 600 } }))
  test.match(await as('PUT', '/services/apply/confirm'), DENIED)
  done(await call('PUT', '/services/apply/confirm'))
})

t.test('a document is planned by users who see its sections, and changes records inside', async (test) => {
  const plan = (fields: object) => ({ body: { document: { version: 1, realServers: fields } } })
  const fields = { ip: '192.0.2.80', port: 83 }
  const { as: blind } = await fixture()
  test.match(await blind('POST', '/config/plan', plan({ 'shop-1': fields })), DENIED)
  const { as } = await fixture([...AREA, { path: RIPS, methods: ['GET'] }])
  test.match(await as('POST', '/config/plan', plan({ 'bank-1': fields })), DENIED)
  test.match(await as('POST', '/config/plan', plan({ 'bank-2': fields })), DENIED)
  const renaming = { version: 1, realServers: { 'bank-3': fields }, renamed: { realServers: { 'shop-1': 'bank-3' } } }
  test.match(await as('POST', '/config/plan', { body: { document: renaming } }), DENIED)
  const { planId } = done(await as('POST', '/config/plan', plan({ 'shop-1': fields, 'shop-3': fields })))
  test.equal((await as('PUT', `/config/plans/${planId}/apply`)).status, 200)
})

t.test('the plan of another user is applied by users who could have made it', async (test) => {
  const { as, call } = await fixture()
  const document = { version: 1, realServers: { 'bank-1': { ip: '192.0.2.80', port: 84 } } }
  const { planId } = done(await call('POST', '/config/plan', { body: { document } }))
  test.match(await as('PUT', `/config/plans/${planId}/apply`), DENIED)
})

t.test('raw lines and restores are whole rights: no area applies to them', async (test) => {
  const { as, call } = await fixture()
  test.match(await as('PUT', '/layer7proxy/raw', { body: { global: ['# x'] } }), DENIED)
  for (const [path, method] of [
    ['/layer7proxy/raw', 'PUT'],
    ['/revisions/{n}/restore', 'PUT'],
    ['/services/apply', 'PUT'],
    ['/config/plan', 'POST'],
  ] as const) {
    const body = { name: 'x', users: [], groups: [], endpoints: [{ path, methods: [method], where: WHERE }] }
    const answer = await call('POST', '/rbac/roles', { body })
    test.match(answer.json.errors, [{ field: 'endpoints.0.where', code: 'NOT_ALLOWED' }], path)
  }
})

t.test('several roles add up; a right without an area covers everything', async (test) => {
  const { as, role, call, bank } = await fixture([{ path: `${RIPS}/{id}`, methods: ['PUT'], where: WHERE }])
  await role([{ path: `${RIPS}/{id}`, methods: ['PUT'], where: { names: ['bank-*'] } }])
  await call('PUT', '/services/apply')
  const put = (body: object) => as('PUT', `${RIPS}/${bank}`, { body: { port: 85, ...body } })
  test.equal((await put({})).status, 200)
  test.equal((await put({ name: 'shop-8' })).status, 200, 'from one area into the other')
  test.match(await put({ name: 'other' }), DENIED)
  await role([{ path: `${RIPS}/{id}`, methods: ['PUT'] }])
  await call('PUT', '/services/apply', { body: { mine: true } })
  test.equal((await put({ name: 'other' })).status, 200)
})

t.test('a token has no more than its user, whatever it was created for', async (test) => {
  const { as, appliance, bank, shop } = await fixture()
  const { endpoints: granted, confined } = done(await as('GET', '/localUsers/me'))
  const update = confined.find(({ endpoint }: { endpoint: string }) => granted.includes(endpoint))
  test.same(update.where, WHERE)
  const { token } = done(await as('POST', '/localUsers/me/tokens', { body: { name: 'all', endpoints: granted } }))
  const program = caller(appliance, token)
  test.equal((await program('PUT', `${RIPS}/${shop}`, { body: { port: 86 } })).status, 200)
  test.match(await program('PUT', `${RIPS}/${bank}`, { body: { port: 86 } }), MISSING)
  test.match(await program('POST', RIPS, { body: real('bank-2') }), DENIED)
  test.equal((await program('GET', RIPS)).json.data.length, 1)
})

t.test('a user confined in one kind has his whole rights in others', async (test) => {
  const { as, bankBackend, bank } = await fixture([
    ...records(RIPS, WHERE),
    { path: `${BACKENDS}/{id}`, methods: ['PUT'] },
  ])
  const body = { reals: [{ ripId: bank, weight: 7 }] }
  test.equal((await as('PUT', `${BACKENDS}/${bankBackend}`, { body })).status, 200)
})

t.test('an account shows its rights; an administrator is not confined', async (test) => {
  const { as, call } = await fixture([{ path: RIPS, methods: ['GET'], where: WHERE }])
  const { endpoints, confined } = done(await as('GET', '/localUsers/me'))
  test.equal(endpoints.length, 1)
  test.same(confined, [{ endpoint: endpoints[0], where: WHERE }])
  const mine = done(await call('GET', '/localUsers/me'))
  const all = done(await call('GET', '/rbac/endpoints'))
  test.ok(mine.roles.includes(ADMINISTRATOR.id))
  test.same([mine.endpoints, mine.confined], [all.map(({ id }: { id: string }) => id), []])
})

t.test('whatever is requested, no record outside changes', async (test) => {
  const { as, call, shop, bank, shopBackend, bankBackend } = await fixture()
  const outside = async () => {
    const list = async (path: string) =>
      done(await call('GET', path))
        .map(({ health: _health, ...record }: { health: unknown; name: string }) => record)
        .filter(({ name }: { name: string }) => !name.toLowerCase().startsWith('shop-'))
    return JSON.stringify([await list(RIPS), await list(BACKENDS)])
  }
  const before = await outside()
  const name = fc.constantFrom('shop-1', 'shop-2', 'bank-1', 'bank-2', 'Shop-3', 'my-shop-')
  const id = fc.constantFrom(shop, bank, shopBackend, bankBackend)
  const asked = fc.oneof(
    fc.record({ method: fc.constant('POST'), path: fc.constant(RIPS), body: name.map((one) => real(one)) }),
    fc.record({
      method: fc.constant('PUT'),
      path: id.map((one) => `${RIPS}/${one}`),
      body: name.map((one) => real(one)),
    }),
    fc.record({ method: fc.constant('DELETE'), path: id.map((one) => `${RIPS}/${one}`) }),
    fc.record({
      method: fc.constant('PUT'),
      path: id.map((one) => `${BACKENDS}/${one}`),
      body: fc.record({
        name,
        reals: fc.array(
          id.map((ripId) => ({ ripId })),
          { maxLength: 2 },
        ),
      }),
    }),
    fc.constant({ method: 'PUT', path: '/services/apply' }),
    fc.constant({ method: 'DELETE', path: '/services/pending' }),
  )
  let [taken, refused] = [0, 0]
  await fc.assert(
    fc.asyncProperty(fc.array(asked, { minLength: 1, maxLength: 6 }), async (requests) => {
      for (const { method, path, ...sent } of requests) {
        const { status } = await as(method, path, sent)
        if (status < 300) taken += 1
        else refused += 1
      }
      return (await outside()) === before
    }),
    { numRuns: 20 },
  )
  test.ok(taken > 0 && refused > 0, `${taken} taken, ${refused} refused`)
})
