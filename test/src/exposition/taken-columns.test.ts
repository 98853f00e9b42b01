import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { createStatRows, scanStats } from '../../../src/drivers/haproxy/stats-csv.ts'
import { TakenColumns } from '../../../src/exposition/taken-columns.ts'
import { type RandomAnswer, randomAnswers } from '../../fixtures/random-answers.ts'

const SEEDS = 40

/** All known values of the objects after each of several answers. */
function series(objects: number, names: readonly string[]) {
  const columns = names.map((column) => ({ column, isMilliseconds: column === 'rtime' }))
  const taken = new TakenColumns(objects, columns)
  const numbers = Array.from({ length: objects }, () => names.map(() => ''))
  return ({ rowOf, ...answer }: RandomAnswer) => {
    for (const _ of taken.read(answer, rowOf));
    for (const [place, changed] of taken.numbers.entries())
      for (let number = 0; number < changed.count; number++) {
        const [start, length] = [changed.starts[number] ?? 0, changed.lengths[number] ?? 0]
        const of = numbers[changed.objects[number] ?? 0] ?? []
        of[place] = Buffer.from(changed.bytes.subarray(start, start + length)).toString()
      }
    const letters = numbers.map((_, object) => [...taken.letters.subarray(object * 2, object * 2 + 2)])
    return { numbers, letters: letters.map((codes) => String.fromCharCode(...codes.filter((code) => code > 0))) }
  }
}

t.test('numbers of the wanted columns, wherever they are; words and long values are no numbers', async (test) => {
  const csv = new Uint8Array(
    Buffer.from(
      '# pxname,svname,scur,stot,bin,bout,status,type,addr,weight,\n' +
        'a,FRONTEND,1,18446744073709551615,0,0,OPEN,0,,,\n' +
        'b,BACKEND,-1,123456789012345678901,0,0,UP 1/3,1,"x,y",7,\n' +
        'b,s,,12x,0,0,U,2,,0,\n\n',
    ),
  )
  const rows = createStatRows()
  const header = scanStats(csv, rows)
  const bytes = {
    csv,
    rows: Uint32Array.from([header?.start ?? 0, ...rows.starts.subarray(0, rows.count)]),
    columns: header?.columns ?? new Map(),
  }
  const known = series(4, ['scur', 'stot', 'weight', 'not there'])
  const { numbers, letters } = known({ ...bytes, rowOf: Int32Array.from([1, 2, 3, -1]) })
  test.same(numbers, [
    ['1', '18446744073709551615', '', ''],
    ['', '', '7', ''],
    ['', '', '0', ''],
    ['', '', '', ''],
  ])
  test.same(letters, ['OP', 'UP', '', ''])
})

t.test('after any number of answers, the known values are those of a reader of the last one', async (test) => {
  const [objects, names] = [40, ['weight', 'scur', 'stot', 'bin', 'rtime']]
  for (let seed = 1; seed <= SEEDS; seed++) {
    const [next, known] = [randomAnswers(objects, seed), series(objects, names)]
    for (let round = 0; round < 60; round++) {
      const answer = next()
      const [told, wanted] = [known(answer), series(objects, names)(answer)]
      if (isDeepStrictEqual(told, wanted)) continue
      test.same(told, wanted, `seed ${seed}, round ${round}`)
      return
    }
  }
})

t.test('an unchanged answer has no changes; another has its own and few others', async (test) => {
  const answer = (third: string): RandomAnswer => {
    const text = [
      'pxname,scur,stot,status,mode,\n',
      'a,10,2,UP,tcp,\n',
      'b,10,200000000,UP,tcp,\n',
      `c,10,${third},UP,tcp,\n\n`,
    ]
    return {
      csv: new Uint8Array(Buffer.from(text.join(''))),
      rows: Uint32Array.from(text, (_, at) => text.slice(0, at).join('').length),
      columns: new Map(['pxname', 'scur', 'stot', 'status'].map((name, at) => [name, at])),
      rowOf: Int32Array.from([1, 2, 3]),
    }
  }
  const taken = new TakenColumns(3, [{ column: 'scur' }, { column: 'stot' }])
  const counts = (third: string) => {
    const { rowOf, ...rest } = answer(third)
    for (const _ of taken.read(rest, rowOf));
    return taken.numbers.map(({ count, objects }) => [...objects.subarray(0, count)])
  }
  test.same(counts('100000000'), [
    [0, 1, 2],
    [0, 1, 2],
  ])
  test.same(counts('100000000'), [[], []])
  test.same(counts('100009000'), [[], [2]])
  test.same(counts('10000900'), [[2], [2]], 'scanned')
})
