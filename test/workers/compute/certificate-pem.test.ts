import t from 'tap'
import { BLOCKS_MAX, pemBlocks } from '../../../workers/compute/certificate-pem.ts'

const block = (label: string, body = 'AAEC\n') => `-----BEGIN ${label}-----\n${body}-----END ${label}-----\n`

t.test('blocks are found whatever surrounds them, with any line ends and headers', async (test) => {
  const text = `subject=x\r\n${block('CERTIFICATE')}\r\n${block('A KEY', 'Proc-Type: 4,ENCRYPTED\nDEK-Info: x\n\nAA\r\nEC\n')}`
  const blocks = pemBlocks(text)
  test.match(blocks, [
    { label: 'CERTIFICATE', der: Buffer.from([0, 1, 2]) },
    { label: 'A KEY', der: Buffer.from([0, 1, 2]), text: /Proc-Type/ },
  ])
  test.same(pemBlocks('no block'), [])
})

t.test('text without a block is reported', async (test) => {
  test.match(pemBlocks('-----BEGIN CERTIFICATE-----\nAAEC'), /without an end/)
  test.match(pemBlocks('-----BEGIN CERTIFICATE'), /valid first line/)
  test.match(pemBlocks(block('x y')), /valid first line/)
  for (const body of ['', 'AAE\n', 'A=EC\n', 'AA*C\n']) test.match(pemBlocks(block('CERTIFICATE', body)), /not base64/)
  test.match(pemBlocks(block('CERTIFICATE').repeat(BLOCKS_MAX + 1)), /more than/)
})
