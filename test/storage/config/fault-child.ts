/**
 * Writes a configuration for some rounds on a disk that fails, continues whatever happens, and reports the result of
 * each write.
 */
import { writeSync } from 'node:fs'
import { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { stageIn } from '../../fixtures/entries.ts'

const [, , directory, rounds] = process.argv
if (directory === undefined || rounds === undefined) throw new Error('usage: fault-child.ts DIRECTORY ROUNDS')
const tell = (line: string) => void writeSync(1, `${line}\n`)
const store = new LmdbConfigStore(directory)
tell('open')

/** A record and a session, at the same time. */
function writes(n: number): readonly (readonly [string, Promise<void>])[] {
  const [key, value] = [`key-${n}`, { text: String(n).repeat(300) }]
  return [
    [`thing ${key}`, stageIn(store, [{ section: 'things', scope: '', key, value }])],
    [`session ${key}`, store.sessions.put(key, value)],
  ]
}

const first = store.changes().length
for (let n = first; n < first + Number(rounds); n++) {
  for (const [what, written] of writes(n)) {
    await written.then(
      () => tell(`ok ${what}`),
      (error: Error) => tell(`${error.message.startsWith('Nothing was changed') ? 'refused' : error.name} ${what}`),
    )
  }
}
await store.close()
tell('closed')
