// Prints IDs: mcs Example.cs Snowfence.cs && MONO_THREADS_SUSPEND=coop mono Example.exe STORE N
using System;
using System.IO;
using Snowfence;

static class Example
{
	static void Main(string[] args)
	{
		using (var ids = Generator.Open(args[0], null, "label=csharp-example"))
		using (var output = new StreamWriter(Console.OpenStandardOutput()))
			for (long n = long.Parse(args[1]); n > 0; n--)
				output.WriteLine(ids.Next());
	}
}
