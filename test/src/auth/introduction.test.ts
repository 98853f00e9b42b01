import t from 'tap'
import { introduced, introductionIn, isSameIntroduction } from '../../../src/auth/introduction.ts'
import type { OidcConfig } from '../../../src/model/sign-in.ts'
import { EVERYTHING } from '../../fixtures/backup.ts'
import { viewOf } from '../../fixtures/view.ts'

const [stored] = EVERYTHING.oidcConfigs
if (stored === undefined) throw new Error('the fixture has no OpenID Connect')
const CONFIG: OidcConfig = {
  ...stored,
  groupsClaim: 'groups',
  groupMappings: [
    { group: '/operators', roles: ['role-1'] },
    { group: 'a, b', roles: ['role-2', 'role-1'] },
  ],
}
const EMAIL = 'ann@corp.example'
const NAMES = { firstName: '', lastName: '', passwordHash: 'x', groups: [], roles: [] }
const view = (config: Partial<OidcConfig> = {}, more: Partial<typeof EVERYTHING> = {}) =>
  viewOf({ ...EVERYTHING, ...more, oidcConfigs: [{ ...CONFIG, ...config }] })
const said = (groups: unknown, email = EMAIL) => introductionIn({ groups }, email, CONFIG)

for (const [title, groups, kept] of [
  ['a list', ['/operators', '/others'], ['/operators']],
  ['one string is one group', '/operators', ['/operators']],
  ['a string is not split', '/operators, /others', []],
  ['a name with a comma', 'a, b', ['a, b']],
  ['a missing claim', undefined, []],
  ['null', null, []],
  ['a number', 7, []],
  ['an object', { '/operators': true }, []],
  ['another case', ['/Operators'], []],
  ['a trailing blank', ['/operators '], []],
  ['list elements that are not strings', [7, null, ['/operators'], { group: '/operators' }], []],
  ['duplicates', Array(10_000).fill('/operators'), ['/operators']],
  ['thousands of groups', [...Array(20_000).keys()].map((n) => `/group-${n}`).concat('/operators'), ['/operators']],
  ['very long names', ['x'.repeat(400_000), '/operators'], ['/operators']],
  ['markup and control characters', ['<script>', '\u0000', '__proto__', 'constructor'], []],
] as const)
  t.test(`of the groups claim, only mapped groups are kept: ${title}`, async (test) => {
    test.same(said(groups)?.groups, kept)
  })

t.test('a claim with the name of a built-in property is not one of the token', async (test) => {
  for (const groupsClaim of ['constructor', '__proto__', 'toString'])
    test.same(introductionIn({}, EMAIL, { ...CONFIG, groupsClaim })?.groups, [], groupsClaim)
})

t.test('a claim is found by its whole name, with any characters', async (test) => {
  const groupsClaim = 'https://corp.example/claims.groups'
  const claims = { [groupsClaim]: ['/operators'] }
  test.same(introductionIn(claims, EMAIL, { ...CONFIG, groupsClaim })?.groups, ['/operators'])
})

t.test('no one is introduced without a configured claim, or by a similar address', async (test) => {
  const { groupsClaim: _, ...before } = CONFIG
  for (const config of [{ ...CONFIG, groupsClaim: null }, before])
    test.equal(introductionIn({ groups: ['/operators'] }, EMAIL, config), undefined)
  for (const email of ['ann', '@corp.example', 'ann@', 'ann@corp@x', 'аnn@corp.example', '<b>@corp.example'])
    test.equal(said([], email), undefined, email)
  for (const email of [
    'ann @corp.example',
    'ann@corp.example\n',
    `${'a'.repeat(65)}@x`,
    `a@${'x'.repeat(190)}`,
    '\u212aim@x',
  ])
    test.equal(said([], email), undefined, email)
  test.not(said([], "o'brien+ops@corp.example"), undefined)
})

t.test('roles are those of the running mappings', async (test) => {
  const word = said(['/operators', 'a, b'])
  if (word === undefined) throw new Error('nobody was introduced')
  test.match(introduced(view(), word), { name: EMAIL, disabled: false, groups: [], roles: ['role-1', 'role-2'] })
  const fewer = { groupMappings: [{ group: '/operators', roles: ['role-3'] }] }
  test.match(introduced(view(fewer), word), { roles: ['role-3'] })
  test.same(introduced(view(fewer), { ...word, groups: ['a, b'] }), 'unmapped')
  test.same(introduced(view({ groupMappings: [] }), word), 'unmapped')
  test.match(introduced(view({ groupMappings: [], denyUnmapped: false }), word), { roles: [] })
})

t.test('an introduction ends with its basis', async (test) => {
  const word = said(['/operators'])
  if (word === undefined) throw new Error('nobody was introduced')
  for (const change of [
    { enabled: false },
    { groupsClaim: null },
    { groupsClaim: 'roles' },
    { emailClaim: 'upn' },
    { clientId: 'another' },
    { issuer: 'https://other.example.test' },
  ])
    test.equal(introduced(view(change), word), 'off', JSON.stringify(change))
  test.match(introduced(view({ scopes: ['openid'], enforced: true }), word), { roles: ['role-1'] })
})

t.test('a name that belongs to another user here is not assigned twice', async (test) => {
  const word = said(['/operators'])
  if (word === undefined) throw new Error('nobody was introduced')
  const users = (disabled: boolean) => ({ users: [{ ...NAMES, id: 'u', email: 'Ann@Corp.example', disabled }] })
  test.equal(introduced(view({}, users(false)), word), 'taken')
  test.equal(introduced(view({}, users(true)), word), 'disabled')
  const createdAt = '2026-11-01T00:00:00.000Z'
  const remote = (disabled: boolean) => ({
    radiusUsers: [{ id: 'r', username: 'ANN@corp.example', disabled, groups: [], createdAt }],
  })
  test.equal(introduced(view({}, remote(false)), word), 'taken')
  test.equal(introduced(view({}, remote(true)), word), 'disabled')
  const off = { ...remote(false), radiusConfigs: [] }
  test.match(introduced(view({}, off), word), { roles: ['role-1'] }, 'RADIUS is off, so no one logs in that way')
})

t.test('the same person has the same id, however the address is written', async (test) => {
  const idOf = (email: string) => {
    const word = said(['/operators'], email)
    const who = word === undefined ? 'off' : introduced(view(), word)
    return typeof who === 'string' ? who : who.id
  }
  test.equal(idOf('Ann@Corp.Example'), idOf(EMAIL))
  test.not(idOf('bob@corp.example'), idOf(EMAIL))
})

t.test('introductions are equal when all their parts are', async (test) => {
  const word = said(['/operators'])
  test.ok(isSameIntroduction(word, said(['/operators', '/others'])))
  test.notOk(isSameIntroduction(word, said(['a, b'])))
  test.notOk(isSameIntroduction(word, undefined))
  test.ok(isSameIntroduction(undefined, undefined))
})
