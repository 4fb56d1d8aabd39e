// 64-bit IDs that never repeat within a namespace of a store, made in your process by the C library.
//
//	using (var ids = Generator.Open("sqlite:/var/lib/shop/ids.db"))
//		long order = ids.Next();
//
// C# 7, .NET and Mono, on Linux. Threads may share a generator: each takes IDs ahead for itself.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

namespace Snowfence
{
	/// <summary>What went wrong: what happened, to what, and what to do.</summary>
	public sealed class SnowfenceException : Exception
	{
		/// <summary>The number of the status in snowfence.h.</summary>
		public int Status { get; }

		internal SnowfenceException(int status, string text) : base(text) => Status = status;
	}

	/// <summary>An ID taken apart.</summary>
	[StructLayout(LayoutKind.Sequential)]
	public struct Parts
	{
		public long Tick, Seconds, Nanoseconds, Node, Sequence, Rollback, Key, Scatter, Tag;

		/// <summary>The start of the tick.</summary>
		public DateTimeOffset Time => DateTimeOffset.FromUnixTimeSeconds(Seconds).AddTicks(Nanoseconds / 100);
	}

	/// <summary>Makes IDs. It is closed by Dispose; without that its node is free some time after the program ends.</summary>
	public sealed class Generator : IEnumerable<long>, IDisposable
	{
		private readonly ulong handle;
		private readonly ThreadLocal<Ring> rings = new ThreadLocal<Ring>(() => new Ring());
		private int closed;

		private Generator(ulong handle)
		{
			this.handle = handle;
		}

		/// <summary>Leases a node from a store; null is the store of this machine. Options are such as "lead=2000".</summary>
		public static Generator Open(string store, string ns = null, string options = null)
		{
			C.Check(C.snowfence_open(C.Text(store), C.Text(ns), C.Text(options), out ulong handle));
			return new Generator(handle);
		}

		/// <summary>Makes IDs of one node, whose use a file remembers over restarts.</summary>
		public static Generator OpenStateFile(string path, long node, string layout = null, string options = null)
		{
			C.Check(C.snowfence_open_statefile(C.Text(path), C.Text(layout), node, C.Text(options), out ulong handle));
			return new Generator(handle);
		}

		/// <summary>Makes IDs of a bare number. It is safe inside this process only.</summary>
		public static Generator OpenStatic(long node, string layout = null, string options = null)
		{
			C.Check(C.snowfence_open_static(C.Text(layout), node, C.Text(options), out ulong handle));
			return new Generator(handle);
		}

		/// <summary>Makes an ID.</summary>
		public long Next()
		{
			var ring = rings.Value;
			if (C.snowfence_ring_take(ring.Memory, handle, out long id) == 0)
				C.Check(C.snowfence_ring_refill(ring.Memory, handle, out id));
			GC.KeepAlive(ring);
			return id;
		}

		/// <summary>Makes n IDs. Those with the same bits above the time increase.</summary>
		public long[] Take(int n)
		{
			if (n < 0)
				throw new ArgumentOutOfRangeException(nameof(n));
			var ids = new long[n];
			C.Check(C.snowfence_fill(handle, ids, (UIntPtr)n, out _));
			var ring = rings.Value;
			Marshal.WriteInt64(ring.Memory, 0); // it holds lower ones
			GC.KeepAlive(ring);
			return ids;
		}

		/// <summary>Takes an ID apart, with the layout and the secrets of this generator.</summary>
		public Parts Decode(long id)
		{
			C.Check(C.snowfence_decode_own(handle, id, out Parts parts));
			return parts;
		}

		/// <summary>Takes an ID apart; null is the default layout.</summary>
		public static Parts Decode(long id, string layout)
		{
			C.Check(C.snowfence_decode(C.Text(layout), id, out Parts parts));
			return parts;
		}

		/// <summary>Writes an ID as text, such as "base58"; null is decimal.</summary>
		public static string Format(long id, string encoding = null)
		{
			var text = new byte[80];
			C.Check(C.snowfence_format(id, C.Text(encoding), text, (UIntPtr)text.Length, out UIntPtr length));
			return Encoding.ASCII.GetString(text, 0, (int)length);
		}

		/// <summary>Reads the text of an ID.</summary>
		public static long Parse(string text, string encoding = null)
		{
			C.Check(C.snowfence_parse(C.Text(text), C.Text(encoding), out long id));
			return id;
		}

		/// <summary>Ends the generator and gives its node back. A second call does nothing.</summary>
		public void Close()
		{
			if (Interlocked.Exchange(ref closed, 1) == 0)
				C.Check(C.snowfence_close(handle));
		}

		void IDisposable.Dispose()
		{
			if (Interlocked.Exchange(ref closed, 1) == 0)
				C.snowfence_close(handle); // an error means that the node is free later: Close tells
		}

		public IEnumerator<long> GetEnumerator()
		{
			for (;;)
				yield return Next();
		}

		IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

		// IDs taken ahead for one thread.
		private sealed class Ring
		{
			internal readonly IntPtr Memory = Marshal.AllocHGlobal(8 * Words);
			private const int Words = 1031; // SNOWFENCE_RING_WORDS

			internal Ring() => Marshal.Copy(new long[Words], 0, Memory, Words);
			~Ring() => Marshal.FreeHGlobal(Memory);
		}
	}

	// The calls of snowfence.h. A handle is a number, which nobody follows.
	internal static class C
	{
		private const string Library = "libsnowfence.so.1";

		[DllImport(Library)] private static extern int snowfence_abi_version();
		[DllImport(Library)] private static extern UIntPtr snowfence_last_error([Out] byte[] buf, UIntPtr size);
		[DllImport(Library)] internal static extern int snowfence_open(byte[] store, byte[] ns, byte[] options, out ulong ids);
		[DllImport(Library)]
		internal static extern int snowfence_open_statefile(byte[] path, byte[] layout, long node, byte[] options, out ulong ids);
		[DllImport(Library)] internal static extern int snowfence_open_static(byte[] layout, long node, byte[] options, out ulong ids);
		[DllImport(Library)] internal static extern int snowfence_fill(ulong ids, [Out] long[] buf, UIntPtr n, out UIntPtr made);
		[DllImport(Library)] internal static extern int snowfence_ring_take(IntPtr ring, ulong ids, out long id);
		[DllImport(Library)] internal static extern int snowfence_ring_refill(IntPtr ring, ulong ids, out long id);
		[DllImport(Library)] internal static extern int snowfence_close(ulong ids);
		[DllImport(Library)] internal static extern int snowfence_decode(byte[] layout, long id, out Parts parts);
		[DllImport(Library)] internal static extern int snowfence_decode_own(ulong ids, long id, out Parts parts);
		[DllImport(Library)]
		internal static extern int snowfence_format(long id, byte[] encoding, [Out] byte[] buf, UIntPtr size, out UIntPtr length);
		[DllImport(Library)] internal static extern int snowfence_parse(byte[] text, byte[] encoding, out long id);

		static C()
		{
			string suspend = Environment.GetEnvironmentVariable("MONO_THREADS_SUSPEND");
			if (Type.GetType("Mono.Runtime") != null && suspend != "coop")
				throw new NotSupportedException("Mono's garbage collector would stop threads inside the library, where others "
					+ "wait for them for ever: set the environment variable MONO_THREADS_SUSPEND=coop");
			if (snowfence_abi_version() != 1)
				throw new NotSupportedException("libsnowfence has another ABI version than this file, which is for 1");
		}

		// A text of C, with a zero at its end.
		internal static byte[] Text(string text)
		{
			if (text == null)
				return null;
			if (text.IndexOf('\0') >= 0)
				throw new ArgumentException("a text has a zero character");
			return Encoding.UTF8.GetBytes(text + "\0");
		}

		internal static void Check(int status)
		{
			if (status == 0)
				return;
			var text = new byte[1024];
			int n = Math.Min((int)snowfence_last_error(text, (UIntPtr)text.Length), text.Length - 1);
			throw new SnowfenceException(status, Encoding.UTF8.GetString(text, 0, n));
		}
	}
}
