// Checks the file: mono Test.exe STORE VECTORS. Prints "ok".
using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;
using Snowfence;

static class Test
{
	static void Must(bool ok, string what)
	{
		if (!ok)
			throw new Exception(what);
	}

	static void Expect(int status, string text, Action call)
	{
		try {
			call();
		} catch (SnowfenceException e) {
			Must(e.Status == status && e.Message.Contains(text), e.ToString());
			return;
		}
		Must(false, "nothing was thrown about " + text);
	}

	static void Vectors(string path)
	{
		foreach (var line in File.ReadAllLines(path)) {
			var v = line.Split('\t');
			var p = Generator.Decode(long.Parse(v[1]), v[0]);
			var got = new[] {p.Tick, p.Node, p.Sequence, p.Rollback, p.Scatter, p.Tag};
			for (int i = 0; i < got.Length; i++)
				Must(v[i + 2] == "-" || v[i + 2] == got[i].ToString(), line);
		}
		Must(Generator.Parse(Generator.Format(1L << 62, "base58"), "base58") == 1L << 62, "base58");
		Expect(4, "ü", () => Generator.Parse("ü"));
		Expect(4, "NULL", () => Generator.Parse(null));
		Expect(4, "leed", () => Generator.Open("mem:", null, "leed=1"));
	}

	static void Threads(Generator ids)
	{
		var lists = new List<long>[4];
		var threads = new Thread[lists.Length];
		for (int t = 0; t < threads.Length; t++) {
			var list = lists[t] = new List<long>();
			threads[t] = new Thread(() => {
				for (int i = 0; i < 20000; i++) {
					list.Add(ids.Next());
					if (i % 1000 == 0) {
						list.AddRange(ids.Take(i / 1000 % 7));
						GC.Collect(); // stops all threads by signals
					}
				}
			});
			threads[t].Start();
		}
		foreach (var thread in threads)
			thread.Join();
		var made = new HashSet<long>();
		foreach (var list in lists)
			for (int i = 0; i < list.Count; i++)
				Must(made.Add(list[i]) && (i == 0 || list[i] > list[i - 1]), "IDs of threads");
	}

	// Mono finds a null pointer by SIGSEGV, as Java does.
	static void NullPointers(Generator ids)
	{
		string none = null;
		int caught = 0;
		for (int i = 0; i < 2000; i++) {
			ids.Next();
			try {
				Must(none.Length < 0, "null has a length");
			} catch (NullReferenceException) {
				caught++;
			}
		}
		Must(caught == 2000, "null pointers");
	}

	static void Main(string[] args)
	{
		Vectors(args[1]);
		var ids = Generator.Open(args[0], null, "label=csharp,lead=2000");
		Threads(ids);
		NullPointers(ids);
		foreach (long id in ids) {
			Must(ids.Decode(id).Node == ids.Decode(ids.Take(1)[0]).Node && id < ids.Next(), "decode");
			break;
		}
		using (Generator.OpenStatic(9))
			Expect(8, "9", () => Generator.OpenStatic(9));
		Generator.OpenStatic(9).Close();
		var rest = ids.GetEnumerator();
		rest.MoveNext(); // so that some are left
		ids.Close();
		ids.Close();
		((IDisposable)ids).Dispose();
		for (int i = 0; i < 20; i++)
			Expect(5, "closed", () => ids.Next());
		Expect(5, "closed", () => ids.Take(1));
		Expect(5, "closed", () => rest.MoveNext());
		Console.WriteLine("ok");
	}
}
