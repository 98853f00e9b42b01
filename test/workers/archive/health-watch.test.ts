import t from 'tap'
import { createStatRows, scanStats } from '../../../src/drivers/haproxy/stats-csv.ts'
import type { ArchiveObject } from '../../../storage/archive/catalog.ts'
import { HealthWatch } from '../../../workers/archive/health-watch.ts'

const HEADER = '# pxname,svname,scur,stot,bin,bout,status,type,check_status,check_code,last_chk,check_desc,'
const object = (id: number, kind: ArchiveObject['kind']) =>
  ({ id, kind, name: `s${id}`, backend: 'be', slot: id }) as ArchiveObject

/** A poll in which the servers have these states; a frontend comes first. */
function poll(states: readonly string[], check = 'L4CON,,"refused, again",Layer4 connection problem') {
  const servers = states.map((state, index) => `be,s${index + 1},0,0,0,0,${state},2,${check},`)
  const csv = new Uint8Array(Buffer.from(`${[HEADER, 'fe,FRONTEND,0,0,0,0,OPEN,0,,,,,', ...servers].join('\n')}\n\n`))
  const rows = createStatRows()
  const header = scanStats(csv, rows)
  if (header === undefined) throw new Error('torn')
  const objects = [object(0, 'frontend'), ...states.map((_, index) => object(index + 1, 'server'))]
  const starts = Uint32Array.from([header.start, ...rows.starts.subarray(0, rows.count)])
  const [kinds, statuses] = [rows.kinds.slice(0, rows.count), rows.statuses.slice(0, rows.count)]
  return { csv, header, starts, kinds, statuses, layout: 1, objects }
}

t.test('a server that goes down or recovers is reported, with the result of its check', async (test) => {
  const watch = new HealthWatch()
  test.equal(watch.changes(poll(['UP', 'DOWN', 'no check'])), undefined, 'the initial state is not reported')
  test.equal(watch.changes(poll(['UP 1/2', 'DOWN 1/2', 'no check'])), undefined, 'nothing was decided yet')
  test.same(watch.changes(poll(['DOWN', 'UP', 'no check'])), [
    { backend: 'be', server: 's1', up: false, reason: 'L4CON refused, again' },
    { backend: 'be', server: 's2', up: true, reason: 'L4CON refused, again' },
  ])
  test.equal(watch.changes(poll(['DOWN', 'UP', 'no check'])), undefined)
})

t.test('the code of a check is reported: an HTTP status, or the exit of a program', async (test) => {
  const reason = (check: string) => {
    const watch = new HealthWatch()
    watch.changes(poll(['UP']))
    return watch.changes(poll(['DOWN'], check))?.[0]?.reason
  }
  test.equal(reason('PROCERR,7,,External check error'), 'PROCERR 7 External check error')
  test.equal(reason('L7STS,503,HTTP status check,Layer7 wrong status'), 'L7STS 503 HTTP status check')
  test.equal(reason('PROCTOUT,0,,External check timeout'), 'PROCTOUT External check timeout')
  test.equal(reason('PROCERR,4294967295,,External check error'), 'PROCERR External check error', 'it never ran')
  test.equal(reason('* PROCERR,7,,External check error'), 'PROCERR 7 External check error', 'the next one runs')
})

t.test('maintenance is no verdict of a check', async (test) => {
  const watch = new HealthWatch()
  watch.changes(poll(['UP']))
  test.equal(watch.changes(poll(['MAINT'])), undefined)
  test.equal(watch.changes(poll(['UP'])), undefined, 'it was up before')
  test.equal(watch.changes(poll(['DRAIN'])), undefined)
  test.match(watch.changes(poll(['DOWN'])), [{ up: false }])
})
