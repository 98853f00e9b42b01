import { Reply } from './reply.ts'

/** Records that are told in one turn of the event loop: about a millisecond. */
const SLICE = 200

/**
 * A list as it is answered: at once while it is short, else a little at a time, so that others are answered in between.
 * The records are those of this moment; what is told of each is looked up when its turn comes.
 */
export function slicedList<R, T>(message: string, records: readonly R[], told: (record: R) => T): T[] | Reply<never> {
  if (records.length <= SLICE) return records.map(told)
  return Reply.bytes({ body: '', contentType: 'application/json', slices: () => slices(message, records, told) })
}

function* slices<R, T>(message: string, records: readonly R[], told: (record: R) => T) {
  let text = `{"status":"success","message":${JSON.stringify(message)},"data":[`
  for (let from = 0; from < records.length; from += SLICE) {
    const part = records.slice(from, from + SLICE).map((record) => JSON.stringify(told(record)))
    yield Buffer.from(`${text}${from === 0 ? '' : ','}${part.join(',')}`)
    text = ''
  }
  yield Buffer.from(']}')
  return undefined
}
