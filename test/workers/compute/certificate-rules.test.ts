import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import t from 'tap'
import { brokenSignature, factsOf, keyTypeOf, whyWeak } from '../../../workers/compute/certificate-rules.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

t.test('keys: RSA of 2048 to 8192 bits, P-256, P-384, P-521 and Ed25519', async (test) => {
  const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength }).publicKey
  const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).publicKey
  for (const good of [rsa(2048), ec('P-256'), ec('P-384'), ec('P-521'), generateKeyPairSync('ed25519').publicKey]) {
    test.equal(whyWeak(good), undefined, keyTypeOf(good))
  }
  test.match(whyWeak(rsa(1536)), /1536 bits/)
  test.match(whyWeak(ec('secp256k1')), /secp256k1/)
  test.match(whyWeak(generateKeyPairSync('x25519').publicKey), /x25519/)
  test.equal(keyTypeOf(rsa(2048)), 'rsa 2048')
})

t.test('PSS signatures are judged by their hash', async (test) => {
  const { pair, openssl, written } = certificateMaker(test)
  const issuer = pair({ name: 'R', isCa: true, key: 'rsa:2048' })
  const key = pair({ name: 'x', key: 'rsa:2048' })
  const signed = (hash: string) => {
    const signer = ['-CA', written(issuer.cert), '-CAkey', written(issuer.key)]
    const pss = ['-sigopt', 'rsa_padding_mode:pss', `-${hash}`]
    return new X509Certificate(openssl('req', '-x509', '-key', written(key.key), ...signer, ...pss, '-subj', '/CN=x'))
  }
  test.equal(brokenSignature(signed('sha256')), undefined)
  test.equal(brokenSignature(signed('sha1')), 'SHA-1')
})

t.test('names that try to look like others stay as they are', async (test) => {
  const { pair } = certificateMaker(test)
  const { cert } = pair({ name: 'x', names: 'URI:http://u.test/,email:a@b.test,DNS:ok.test' })
  test.match(factsOf(new X509Certificate(cert)), { subjectAlt: ['ok.test'] })
})
