import t from 'tap'
import { chooseEncoding } from '../../../src/http/encoding.ts'

t.test('the highest weight among the available ones', async (test) => {
  for (const [sent, chosen] of [
    ['', 'identity'],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['x-gzip', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip;q=1.0, br;q=0.9', 'gzip'],
    ['gzip ; q=0.5 , br ; q = 0.6', 'br'],
    ['deflate, zstd', 'identity'],
    ['identity', 'identity'],
    ['identity, gzip;q=0.5', 'identity'],
    ['identity;q=0.5, gzip', 'gzip'],
    ['gzip, identity', 'gzip'],
    ['*', 'br'],
    ['*;q=0.1, gzip', 'gzip'],
    ['br;q=0, *', 'gzip'],
    ['*;q=0', 'identity'],
    ['gzip;q=0', 'identity'],
    ['gzip;q=0.000', 'identity'],
    ['gzip;q=2', 'identity'],
    ['gzip;q=', 'identity'],
    [',, gzip ,', 'gzip'],
    ['gzip;level=3', 'gzip'],
  ] as const) {
    test.equal(chooseEncoding(sent), chosen, sent)
    test.equal(chooseEncoding(sent), chosen, `${sent} again`)
  }
})

t.test('values that are sent only once are not stored', async (test) => {
  test.same(new Set(Array.from({ length: 1_000 }, (_, n) => chooseEncoding(`gzip;v=${n}`))), new Set(['gzip']))
})
