/**
 * The limit that the daemon's front is measured against: uWebSockets.js alone, answering one body from memory; by TLS
 * where a key and a certificate are named.
 */
import { readFileSync } from 'node:fs'
import { App, SSLApp, us_socket_local_port } from 'uWebSockets.js'

const [file = '', key, certificate] = process.argv.slice(2)
const body = readFileSync(file)
const app = key && certificate ? SSLApp({ key_file_name: key, cert_file_name: certificate }) : App()
app
  .any('/*', (response) => {
    response.writeHeader('Content-Type', 'application/json')
    response.end(body)
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('cannot listen')
    console.log(us_socket_local_port(socket))
  })
