// A client: `count PROTOCOL TIMES HOST PORT` prints how often each answer came; `hold HOST PORT FILE` keeps one
// connection and writes into the file who serves it and how many of its questions were answered, then why it ended.
import { createSocket } from 'node:dgram'
import { renameSync, writeFileSync } from 'node:fs'
import { connect, isIPv6 } from 'node:net'

const [mode, ...words] = process.argv.slice(2)
/** An emulator beside other work may take seconds for an answer; what is lost never comes. */
const LIMIT_MS = 60_000

function tcp(host, port) {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    socket.setTimeout(LIMIT_MS, () => socket.destroy(new Error('timeout')))
    socket.once('data', (data) => {
      resolve(String(data).trim())
      socket.end()
    })
    socket.on('error', ({ code, message }) => resolve(code ?? message))
    socket.on('close', () => resolve('closed'))
  })
}

function udp(host, port) {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
    const end = (answer) => {
      clearTimeout(timer)
      resolve(answer)
      socket.close()
    }
    const timer = setTimeout(() => end('timeout'), LIMIT_MS)
    socket.once('message', (message) => end(String(message).trim()))
    socket.send('who', port, host)
  })
}

if (mode === 'count') {
  const [protocol, times, host, port] = words
  const seen = {}
  for (let i = 0; i < Number(times); i++) {
    const answer = await (protocol === 'udp' ? udp : tcp)(host, Number(port))
    seen[answer] = (seen[answer] ?? 0) + 1
  }
  process.stdout.write(JSON.stringify(seen))
  process.exit(0)
}

const [host, port, file] = words
let server = ''
let answered = -1
const say = (ended = '') => {
  writeFileSync(`${file}.new`, JSON.stringify({ server, answered, ended }))
  renameSync(`${file}.new`, file)
}
const socket = connect({ host, port: Number(port) })
socket.on('data', (data) => {
  if (server === '') [server] = String(data).split(' ')
  answered += 1
  say()
})
socket.on('error', ({ code }) => say(code))
socket.on('close', () => say('closed'))
const every_ms = Number(words[3] ?? 200)
if (every_ms > 0) setInterval(() => socket.writable && socket.write('?'), every_ms)
