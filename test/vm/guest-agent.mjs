// Runs programs in the guest for the tests: a line of JSON in, a line of JSON out, over a port of its own. Neither the
// network nor sshd of the guest are needed, because the tests change both.
import { execFile } from 'node:child_process'
import { createReadStream, createWriteStream, openSync } from 'node:fs'
import { createInterface } from 'node:readline'

const PORT = '/dev/virtio-ports/fulcrum'
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024
const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

// The port can be opened once only.
const fd = openSync(PORT, 'r+')
const answers = createWriteStream(PORT, { fd })
for await (const line of createInterface({ input: createReadStream(PORT, { fd }) })) {
  const { id, argv } = JSON.parse(line)
  const child = execFile(argv[0], argv.slice(1), { env, maxBuffer: OUTPUT_BYTES_MAX }, (error, stdout, stderr) => {
    const exitCode = error === null ? 0 : (child.exitCode ?? 1)
    answers.write(`${JSON.stringify({ id, exitCode, stdout, stderr })}\n`)
  })
}
