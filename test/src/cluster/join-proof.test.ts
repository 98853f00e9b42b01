import { createHash, createHmac, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import {
  isJoinerProof,
  isMemberProof,
  joinerProof,
  type JoinSession,
  joinSession,
  memberProof,
  proofKeysOf,
} from '../../../src/cluster/join-proof.ts'
import { lengthPrefixed } from '../../../src/cluster/length-prefixed.ts'
import { connected, mutual, newAuthority, newNode } from '../../fixtures/cluster-authority.ts'

const SECRET = randomBytes(32)
const KEYS = proofKeysOf(SECRET)
const IDS = { tokenId: '0198c0de-0000-7000-8000-00000000000a', joinerId: 'joiner', memberId: 'member' }
const SESSION: JoinSession = { ...IDS, exported: randomBytes(32) }

/** Sessions that differ from `SESSION` in one field. */
const OTHERS: readonly JoinSession[] = [
  { ...SESSION, exported: randomBytes(32) },
  { ...SESSION, tokenId: 'x' },
  { ...SESSION, joinerId: 'x' },
  { ...SESSION, memberId: 'x' },
  { ...SESSION, joinerId: 'member', memberId: 'joiner' },
  // Adjacent ids are distinguished.
  { ...SESSION, joinerId: 'joinerm', memberId: 'ember' },
]

t.test('the proof is that of SCRAM (RFC 5802, section 3) with the session for its message', async (test) => {
  const hmac = (key: Uint8Array, text: Uint8Array | string) => createHmac('sha256', key).update(text).digest()
  const clientKey = hmac(SECRET, 'fulcrum join 1 joiner')
  const storedKey = createHash('sha256').update(clientKey).digest()
  const message = (role: string) =>
    lengthPrefixed(['fulcrum join 1', role, IDS.tokenId, IDS.joinerId, IDS.memberId, SESSION.exported])
  const signature = hmac(storedKey, message('joiner'))
  const proof = Buffer.from(clientKey.map((byte, at) => byte ^ (signature[at] ?? 0)))
  test.same(joinerProof(SECRET, SESSION), proof)
  test.same(memberProof(KEYS, SESSION), hmac(hmac(SECRET, 'fulcrum join 1 member'), message('member')))
  test.equal(KEYS.joinerKeyHash, storedKey.toString('base64url'))
})

t.test('a proof is valid in its session, for its two nodes, and in its role', async (test) => {
  const [joiner, member] = [joinerProof(SECRET, SESSION), memberProof(KEYS, SESSION)]
  test.ok(isJoinerProof(KEYS, SESSION, joiner))
  test.ok(isMemberProof(SECRET, SESSION, member))
  for (const other of OTHERS) {
    test.notOk(isJoinerProof(KEYS, other, joiner))
    test.notOk(isMemberProof(SECRET, other, member))
  }
  test.notOk(isJoinerProof(KEYS, SESSION, member), 'sent back')
  test.notOk(isMemberProof(SECRET, SESSION, joiner), 'sent back')
  const stranger = randomBytes(32)
  test.notOk(isJoinerProof(KEYS, SESSION, joinerProof(stranger, SESSION)))
  test.notOk(isMemberProof(SECRET, SESSION, memberProof(proofKeysOf(stranger), SESSION)))
})

t.test('the data stored by a member makes no proof of a joiner', async (test) => {
  const kept = [KEYS.joinerKeyHash, KEYS.memberKey].map((text) => Buffer.from(text, 'base64url'))
  for (const one of kept) {
    test.notOk(isJoinerProof(KEYS, SESSION, joinerProof(one, SESSION)))
    test.notOk(isJoinerProof(KEYS, SESSION, one))
  }
})

t.test('changed proofs, and proofs of any other length, are refused', async (test) => {
  const [joiner, member] = [joinerProof(SECRET, SESSION), memberProof(KEYS, SESSION)]
  for (let bit = 0; bit < 256; bit += 1) {
    const flip = (proof: Buffer) =>
      Buffer.from(proof.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte)))
    if (isJoinerProof(KEYS, SESSION, flip(joiner)) || isMemberProof(SECRET, SESSION, flip(member))) test.fail(`${bit}`)
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
      const longer = Buffer.concat([joiner, bytes])
      const isLonger = bytes.length > 0 && isJoinerProof(KEYS, SESSION, longer)
      return !isLonger && !isJoinerProof(KEYS, SESSION, bytes) && !isMemberProof(SECRET, SESSION, bytes)
    }),
  )
})

t.test('over TLS: both ends of one session agree', async (test) => {
  const authority = await newAuthority()
  const { server, client } = await connected(test, mutual(await newNode(authority), authority))
  const [atMember, atJoiner] = [joinSession(server, IDS), joinSession(client, IDS)]
  test.same(atMember, atJoiner)
  test.ok(isJoinerProof(KEYS, atMember, joinerProof(SECRET, atJoiner)))
  test.ok(isMemberProof(SECRET, atJoiner, memberProof(KEYS, atMember)))
  const next = await connected(test, mutual(await newNode(authority), authority))
  test.notOk(isJoinerProof(KEYS, joinSession(next.server, IDS), joinerProof(SECRET, atJoiner)), 'replayed later')
})

t.test('over TLS: a node in the middle cannot relay proofs', async (test) => {
  const [authority, attacker] = [await newAuthority(), await newAuthority()]
  const member = mutual(await newNode(authority), authority)
  // The joiner connects to the attacker, who connects to the member; in the worst case he has a key of a member.
  for (const shown of [mutual(await newNode(attacker), attacker), member]) {
    const near = await connected(test, shown)
    const far = await connected(test, member)
    const proof = joinerProof(SECRET, joinSession(near.client, IDS))
    test.notOk(isJoinerProof(KEYS, joinSession(far.server, IDS), proof), 'the relayed proof of the joiner')
    const answer = memberProof(KEYS, joinSession(far.server, IDS))
    test.notOk(isMemberProof(SECRET, joinSession(near.client, IDS), answer), 'the relayed proof of the member')
    // Only relaying fails: each proof is valid at the end where it was made.
    test.ok(isJoinerProof(KEYS, joinSession(near.server, IDS), proof))
  }
})

t.test('over TLS 1.2 there is no proof', async (test) => {
  const authority = await newAuthority()
  const { key, cert } = await newNode(authority)
  const { client } = await connected(test, { key, cert, maxVersion: 'TLSv1.2' })
  test.equal(client.getProtocol(), 'TLSv1.2')
  test.throws(() => joinSession(client, IDS), TypeError)
})
