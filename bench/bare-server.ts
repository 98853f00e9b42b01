/** The limit that the daemon's front is measured against: uWebSockets.js alone, answering one body from memory. */
import { readFileSync } from 'node:fs'
import { App, us_socket_local_port } from 'uWebSockets.js'

const body = readFileSync(process.argv[2] ?? '')
App()
  .any('/*', (response) => {
    response.writeHeader('Content-Type', 'application/json')
    response.end(body)
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('cannot listen')
    console.log(us_socket_local_port(socket))
  })
