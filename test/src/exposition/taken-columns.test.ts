import t from 'tap'
import { createStatRows, scanStats } from '../../../src/drivers/haproxy/stats-csv.ts'
import { TakenColumns } from '../../../src/exposition/taken-columns.ts'

t.test(
  'numbers of the wanted columns, wherever they stand; words and what is too long are no numbers',
  async (test) => {
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
    const taken = new TakenColumns(4, ['status', 'scur', 'stot', 'weight', 'not there'])
    for (const _ of taken.read(bytes, Int32Array.from([1, 2, 3, -1])));
    const text = (object: number, place: number) => {
      const from = taken.from(object, place)
      return Buffer.from(taken.digits.subarray(from, from + taken.length(object, place))).toString()
    }
    const all = [0, 1, 2, 3].map((object) => [1, 2, 3, 4].map((place) => text(object, place)))
    test.same(all, [
      ['1', '18446744073709551615', '', ''],
      ['', '', '7', ''],
      ['', '', '0', ''],
      ['', '', '', ''],
    ])
    test.same(
      [0, 1, 2, 3].map((object) => String.fromCharCode(...taken.letters(object).map((code) => code ?? 0x2d))),
      ['OP', 'UP', '--', '--'],
    )
  },
)
