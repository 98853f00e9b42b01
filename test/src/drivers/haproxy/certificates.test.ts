import t from 'tap'
import {
  certificateFiles,
  certificatePreviews,
  contentChanges,
  fitsRuntime,
  keepOnlyUsed,
  replacementSteps,
  usedCertificates,
} from '../../../../src/drivers/haproxy/certificates.ts'
import { haproxyDriver } from '../../../../src/drivers/haproxy/driver.ts'
import type { L7Frontend } from '../../../../src/model/layer7.ts'
import type { RecordChange } from '../../../../src/model/sections.ts'
import { certificateMaker } from '../../../fixtures/certificate-maker.ts'
import { frontend } from '../../../fixtures/config.ts'
import { PATHS, type Records, viewOf } from './records.ts'

const { pair, record } = certificateMaker(t)
const a = record('a', pair({ name: 'a.test' }))
const b = record('b', pair({ name: 'b.test' }))
const renewed = { ...record('a', pair({ name: 'a.test' })), name: 'renamed' }
const FOLDER = '/run/fulcrum/fulcrum-certs'
const driver = haproxyDriver(PATHS)

const config = (more: Partial<L7Frontend> = {}, records: Records = {}) =>
  viewOf({
    certificates: [a, b, { ...b, id: 'unused' }],
    l7Frontends: [frontend('f', null, { certificates: ['b', 'a'], ...more })],
    ...records,
  })
const other = (more: Records = {}) => config({}, { certificates: [renewed, b], ...more })
const kinds = (before: ReturnType<typeof config>, after: ReturnType<typeof config>) =>
  driver.plan(before, after, { atLeast: 'runtime' }).map(({ kind }) => kind)

t.test('files hold the certificates of enabled frontends, and the order of each frontend', async (test) => {
  const files = certificateFiles(config(), PATHS)
  test.same(files, [
    { path: `${FOLDER}/a.pem`, content: a.chain + a.privateKey },
    { path: `${FOLDER}/b.pem`, content: b.chain + b.privateKey },
    { path: `${FOLDER}/f.list`, content: `${FOLDER}/b.pem\n${FOLDER}/a.pem\n` },
  ])
  test.same(keepOnlyUsed(config(), PATHS), {
    ...keepOnlyUsed(config(), PATHS),
    folder: FOLDER,
    names: ['a.pem', 'b.pem', 'f.list'],
  })
  test.same(certificateFiles(config({ enabled: false }), PATHS), [])
  test.same(usedCertificates(config({ certificates: [] })), [])
})

t.test('in a folder whose path no list could hold, lists have names, and haproxy.cfg has the folder', async (test) => {
  const paths = { ...PATHS, configFile: '/srv/a b/haproxy.cfg' }
  const content = (view: ReturnType<typeof config>, path: string) =>
    haproxyDriver(paths)
      .render(view)
      .find((file) => file.path === path)?.content
  test.equal(content(config(), '/srv/a b/fulcrum-certs/f.list'), 'b.pem\na.pem\n')
  test.match(content(config(), paths.configFile), /^ {4}crt-base '\/srv\/a b\/fulcrum-certs'$/m)
  test.notMatch(content(config({ enabled: false }), paths.configFile), 'crt-base')
  test.notMatch(driver.render(config())[0]?.content, 'crt-base')
})

t.test('previews show no key', async (test) => {
  const shown = JSON.stringify(driver.render(config()))
  test.notMatch(shown, 'PRIVATE')
  for (const { privateKey } of [a, b])
    for (const line of privateKey.split('\n').slice(1, -2)) test.notOk(shown.includes(line))
  test.match(
    certificatePreviews(config(), PATHS)[0]?.content,
    /^# certificate .*CN=.*\n# {3}ends \d{4}-.*Z\n# {3}SHA-256 [0-9A-F:]{95}\n# private key .* SHA-256 [0-9a-f]{64}\n$/,
  )
})

t.test('new content is sent to the running HAProxy, read back, and stored in the file', async (test) => {
  const steps = driver.plan(config(), other(), { atLeast: 'runtime' })
  const file = `${FOLDER}/a.pem`
  test.match(steps, [
    {
      kind: 'socket',
      commands: [
        { request: `@1 set ssl cert ${file}`, payload: renewed.chain + renewed.privateKey },
        { request: `@1 commit ssl cert ${file}`, expect: ['*Success!'] },
      ],
      readBack: [{ request: `@1 show ssl cert ${file}`, lines: ['Status: Used', /^SHA1 FingerPrint: [0-9A-F]{40}$/] }],
      undo: [{ request: `@1 abort ssl cert ${file}` }, { payload: a.chain + a.privateKey }, { expect: ['*Success!'] }],
    },
    { kind: 'replaceFile', path: file, content: renewed.chain + renewed.privateKey, mode: 0o600 },
  ])
  test.equal(steps.length, 2)
  test.notMatch(JSON.stringify(steps.map(({ why }) => why)), 'PRIVATE')
})

t.test('a reload is needed: a frontend presents others, in another order, or none', async (test) => {
  const reload = ['check', 'replaceFile', 'unit', 'keepOnly']
  for (const certificates of [['a', 'b'], ['b'], []]) test.same(kinds(config(), config({ certificates })), reload)
  test.same(kinds(config({ certificates: [] }), config({ certificates: ['a'] })), reload)
  const check = driver.plan(undefined, config(), { atLeast: 'runtime' })[0]
  test.match(check, { kind: 'check', beside: certificateFiles(config(), PATHS) }, 'the checker reads them')
})

t.test('nothing is done for a name, or for an unused certificate', async (test) => {
  test.same(kinds(config(), config({}, { certificates: [{ ...a, name: 'x' }, b] })), [])
  test.same(kinds(config(), config({}, { certificates: [a, b, { ...renewed, id: 'unused' }] })), [])
})

t.test("a certificate beyond HAProxy's buffer is a reload: HAProxy would crash", async (test) => {
  const long = { ...renewed, chain: renewed.chain.repeat(40) }
  const change = contentChanges(config(), config({}, { certificates: [long, b] }))
  test.equal(fitsRuntime(change), false)
  test.equal(fitsRuntime(contentChanges(config(), other())), true)
  test.same(kinds(config(), config({}, { certificates: [long, b] }))[0], 'check')
  test.same(replacementSteps([], PATHS), [])
})

t.test('the effect of each change', async (test) => {
  const effect = (change: Pick<RecordChange, 'section' | 'id'>, before: Records, after: Records) => {
    const full = { before: undefined, after: undefined, ...change } as RecordChange
    return driver.effectOf(full, config({}, before), config({}, after))
  }
  const certificate = { section: 'certificates', id: 'a' } as const
  test.equal(effect(certificate, {}, { certificates: [renewed, b] }), 'runtime')
  test.equal(effect(certificate, {}, { certificates: [{ ...a, name: 'x' }, b] }), undefined)
  const l7Frontends = [frontend('f', null, { certificates: ['a'], cipherListId: 'l' })]
  const list = (...ciphers: string[]) => ({ l7Frontends, cipherLists: [{ id: 'l', name: ciphers.join(), ciphers }] })
  const cipherList = { section: 'cipherLists', id: 'l' } as const
  test.equal(effect(cipherList, list('A'), list('B')), 'reload')
  test.equal(effect(cipherList, list('A'), list('A')), undefined)
})
