import { X509Certificate } from 'node:crypto'
import { rootCertificates } from 'node:tls'
import t from 'tap'
import { chainOf, type Found, isIssuedBy, isSelfSigned } from '../../../workers/compute/certificate-chain.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

const found = ({ cert }: { readonly cert: string }): Found => ({ certificate: new X509Certificate(cert), field: 'pem' })

t.test(
  'a link is issued by, and signed with the key of, the next; the path to the older root is preferred',
  async (test) => {
    const { pair } = certificateMaker(test)
    const old = pair({ name: 'Old', isCa: true })
    const root = pair({ name: 'New', isCa: true })
    const crossed = pair({ name: 'New', isCa: true, issuer: old, own: root })
    const leaf = found(pair({ name: 'leaf.test', issuer: root }))
    const [self, across, older] = [found(root), found(crossed), found(old)]
    const chain = chainOf(leaf, [older, self, across])
    test.same(chain.links, [leaf, across, older])
    test.same(chain.strangers, [], 'the other form of a link is not part of it')
    test.equal(chain.isComplete, true)
    test.equal(chainOf(leaf, [across]).isComplete, false)
    test.equal(isIssuedBy(leaf.certificate, older.certificate), false)
  },
)

t.test('a certificate that may not issue has issued nothing', async (test) => {
  const { pair } = certificateMaker(test)
  const root = pair({ name: 'Root', isCa: true })
  const noCa = pair({ name: 'no-ca.test', issuer: root })
  const leaf = found(pair({ name: 'leaf.test', issuer: noCa }))
  test.same(chainOf(leaf, [found(noCa)]).links, [leaf])
})

t.test('a chain signed by a known root is complete without it', async (test) => {
  const [pem = ''] = rootCertificates
  const root = found({ cert: pem })
  test.ok(isSelfSigned(root.certificate))
  test.equal(chainOf(root, []).isComplete, true)
})
