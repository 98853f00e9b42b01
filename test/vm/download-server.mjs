// A download that goes on until a file is there: FILE PORT. Each four bytes say which they are, so that the reader sees
// what is missing or comes twice.
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'

const [file, port] = process.argv.slice(2)
const [EVERY_MS, WORDS] = [50, 4_096]

createServer((_, answer) => {
  let next = 0
  const timer = setInterval(() => {
    // Who reads slowly is sent nothing more meanwhile.
    if (answer.writableNeedDrain) return
    if (existsSync(file)) {
      clearInterval(timer)
      answer.end()
      return
    }
    const block = Buffer.alloc(4 * WORDS)
    for (let word = 0; word < WORDS; word++) block.writeUInt32LE(next++, 4 * word)
    answer.write(block)
  }, EVERY_MS)
  answer.on('close', () => clearInterval(timer))
}).listen(Number(port))
