import { existsSync } from 'node:fs'
import t from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { JoinToken } from '../../../src/cluster/join-token.ts'
import { Application, type ApplicationParts } from '../../../src/witness/application.ts'
import { TokenFile } from '../../../src/witness/token-file.ts'
import { WitnessFiles } from '../../../src/witness/witness-files.ts'
import { listened } from '../../fixtures/joining.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { freePort } from '../../fixtures/traffic.ts'
import { newWitness, twoNodes } from '../../fixtures/witnessed.ts'

const PIN = Buffer.alloc(32, 1).toString('base64url')

async function applying(test: Parameters<typeof newWitness>[0], more: Partial<ApplicationParts> = {}) {
  const { stateFolder, hand, tokenFile, peer } = await newWitness(test)
  const clock = manualClock(Date.now())
  const { log, lines } = listened()
  const files = new WitnessFiles(stateFolder)
  const application = new Application({
    files,
    token: new TokenFile(stateFolder),
    peer,
    etcdSays: async () => 'etcd Version: 3.5.16',
    service: { witnessArgumentsOf: () => ['--name=w'] },
    clock,
    log,
    ...more,
  })
  /** Returns whether the token still exists. */
  const look = async () => {
    t.equal(await application.look(), undefined)
    clock.advance(5_000)
    return existsSync(tokenFile)
  }
  return { application, files, hand, look, lines, tokenFile, peer }
}

t.test('without a token it contacts no node', async (t) => {
  const { look, lines } = await applying(t)
  t.equal(await look(), false)
  t.same(lines, [])
})

t.test('an invalid token, or one for something else, is deleted', async (t) => {
  const { hand, look, lines } = await applying(t)
  hand('nonsense')
  t.equal(await look(), false)
  t.match(lines, [/TOKEN_VERSION/])
  const { issue } = await twoNodes(t)
  const ofNodes = (await issue('node')).toText()
  hand(ofNodes)
  t.equal(await look(), false)
  t.match(lines[1], /OTHER_ROLE.*create a token for a witness/)
  const secret = ofNodes.split('.')[2] ?? ''
  t.notOk(lines.join('').includes(secret))
})

t.test('without an answer it is retried, with the same key, and reported once', async (t) => {
  const { hand, look, lines, files } = await applying(t)
  hand(JoinToken.create(PIN, [`127.0.0.1:${await freePort()}`]).toText())
  t.equal(await look(), true)
  const before = files.applying()
  t.equal(await look(), true)
  t.same(files.applying(), before)
  t.match(lines, [/UNREACHABLE.*this is retried/])
  hand(JoinToken.create(PIN, [`127.0.0.1:${await freePort()}`]).toText())
  t.equal(await look(), true)
  t.not(files.applying()?.nodeId, before?.nodeId, 'with another token it is another one')
})

t.test('without a new enough etcd it does not use the token up', async (t) => {
  const { hand, look, lines } = await applying(t, { etcdSays: async () => undefined, log: silentLog })
  const { issue, tokens } = await twoNodes(t)
  const token = await issue()
  hand(token.toText())
  t.equal(await look(), true)
  t.equal((await tokens.kept(token.id))?.usedBy, undefined)
  t.same(lines, [])
})

t.test('a witness that was admitted and ended before it knew is admitted with the same token again', async (t) => {
  const { issue, members } = await twoNodes(t)
  const first = await applying(t)
  const token = await issue()
  const text = token.toText()
  first.hand(text)
  t.match(await first.application.look(), { name: 'site' })
  const { id } = members.witness ?? {}
  // As before the answer arrived.
  const { key } = first.files.credentials()
  await first.files.cluster.remove()
  await first.files.keepApplying({ tokenId: token.id, nodeId: id ?? '', key })
  first.hand(text)
  t.match(await first.application.look(), { name: 'site', nodeId: id })
  t.match(members.witness, { id, serials: { length: 2 } })
})
