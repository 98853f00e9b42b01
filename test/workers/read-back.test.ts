import t from 'tap'
import { lineProblem, rowProblem } from '../../workers/read-back.ts'

const TABLE = ['1', '# be_name srv_name srv_uweight', 'b r1 10', 'b r2 0', ''].join('\n')

t.test('rows hold the required values', (t) => {
  t.equal(rowProblem(TABLE, [{ where: { srv_name: 'r1' }, columns: { srv_uweight: ['10'] } }]), undefined)
  t.equal(rowProblem(TABLE, [{ where: { srv_name: 'r2' }, columns: { srv_uweight: ['1', '0'] } }]), undefined)
  t.equal(rowProblem(TABLE, [{ where: { srv_name: 'r3' }, columns: undefined }]), undefined)
  t.end()
})

t.test('the first difference is reported', (t) => {
  t.equal(
    rowProblem(TABLE, [{ where: { srv_name: 'r1' }, columns: { srv_uweight: ['1', '2'] } }]),
    'r1 has srv_uweight 10 and not 1 or 2',
  )
  t.equal(rowProblem(TABLE, [{ where: { srv_name: 'r3' }, columns: {} }]), 'r3 is not there')
  t.equal(rowProblem(TABLE, [{ where: { srv_name: 'r2' }, columns: undefined }]), 'r2 is still there')
  t.equal(
    rowProblem(TABLE, [{ where: { srv_name: 'r2' }, columns: { other: ['1'] } }]),
    'r2 has other missing and not 1',
  )
  t.end()
})

t.test('output that is no table is itself the problem', (t) => {
  t.equal(rowProblem("Can't find backend.\n", []), "Can't find backend.")
  t.equal(rowProblem('', []), 'there is no table')
  t.end()
})

t.test('required lines', (t) => {
  const answer = 'Filename: x\nStatus: Used\n  Serial: 01\n'
  t.equal(lineProblem(answer, ['Status: Used', 'Serial: 01']), undefined)
  t.equal(lineProblem(answer, ['Status: Used', 'Serial: 0']), 'there is no line "Serial: 0"')
  t.end()
})

t.test('a table with commas', (t) => {
  const table = '# pxname,svname,last_chk,qcur,scur,\nb,r1,"a ""b"", c\nd,",0,2,"a, b"\n'
  const scur = (svname: string, ...accepted: readonly string[]) =>
    rowProblem(table, [{ where: { svname }, columns: { scur: accepted } }])
  t.equal(scur('r1', '2'), undefined)
  t.equal(scur('r1', '0'), 'r1 has scur 2 and not 0')
  t.equal(scur('r1', '1', '2*'), undefined, 'or its beginning')
  t.equal(scur('r2', '0'), 'r2 is not there')
  t.end()
})
