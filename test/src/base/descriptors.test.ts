import t from 'tap'
import { assertDescriptors, descriptorsMax } from '../../../src/base/descriptors.ts'

t.test('the limit is that of this process', async (test) => {
  test.ok(descriptorsMax() > 0)
  test.equal(
    descriptorsMax(
      'Limit  Soft Hard Units\nMax open files            1024                 4096                 files\n',
    ),
    1024,
  )
  test.equal(descriptorsMax('Max open files            unlimited            unlimited            files\n'), Infinity)
})

t.test('too few are said before anything is begun, with what to do', async (test) => {
  test.throws(() => assertDescriptors(255), /^only 255 files may be open, but at least 256 are needed: raise/)
  test.doesNotThrow(() => assertDescriptors(256))
})
