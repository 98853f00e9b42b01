// A real server: says who it is and which addresses it sees, then echoes; /health of its last port is what a file says.
import { createSocket } from 'node:dgram'
import { existsSync } from 'node:fs'
import { createServer as createWeb } from 'node:http'
import { createServer } from 'node:net'

const [name, folder, webPort, ...ports] = process.argv.slice(2)
const plain = (address) => address.replace(/^::ffff:/, '')
for (const port of ports.map(Number)) {
  createServer((socket) => {
    socket.on('error', () => undefined)
    socket.write(`${name} ${plain(socket.remoteAddress ?? '')} ${plain(socket.localAddress ?? '')} ${port}\n`)
    socket.pipe(socket)
  }).listen({ port, host: '::' })
  for (const [type, host] of [
    ['udp4', '0.0.0.0'],
    ['udp6', '::'],
  ]) {
    const socket = createSocket({ type, ipv6Only: type === 'udp6' })
    socket.on('message', (_, { address, port: from }) => socket.send(`${name} ${address} - ${port}\n`, from, address))
    socket.bind(port, host)
  }
}
createWeb((_, answer) => {
  answer.statusCode = existsSync(`${folder}/${name}.sick`) ? 503 : 200
  answer.end(name)
}).listen({ port: Number(webPort), host: '::' })
